# storm_plot.awk: W5's plot: awk -f storm_plot.awk -v playing=3000 series.tsv >plot.svg
#   series.tsv   gates(on|off) second (0: the storm begins) players waiting tick_p99_s, a line a second
# Above: who is on the map, and who waits. Below: the p99 of that second's ticks, in milliseconds.
function x(s) { return 80 + (s - first) / (last - first + 1e-9) * 620 }
function top(n) { return 220 - n / most * 180 }
function low(ms) { return 440 - (ms > 100 ? 100 : ms) / worst * 180 }
function text(at_x, at_y, what, more) { printf "<text x='%.1f' y='%.1f'%s>%s</text>\n", at_x, at_y, more, what }
function line(x1, y1, x2, y2, colour, more) {
	printf "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'%s/>\n", x1, y1, x2, y2, colour, more
}
BEGIN { FS = "\t"; most = 1; worst = 1; colour["on"] = "#118844"; colour["off"] = "#cc3311" }
{
	gates[NR] = $1; second[NR] = $2; players[NR] = $3; waiting[NR] = $4; ms[NR] = $5 * 1000
	if (NR == 1 || $2 < first) first = $2
	if (NR == 1 || $2 > last) last = $2
	if ($3 > most) most = $3
	if ($4 > most) most = $4
	if (ms[NR] > worst) worst = ms[NR] > 100 ? 100 : ms[NR]
}
END {
	print "<svg xmlns='http://www.w3.org/2000/svg' width='820' height='500' font-family='sans-serif' font-size='12'>"
	print "<rect width='100%' height='100%' fill='white'/>"
	text(80, 24, "W5: players on the map (line) and waiting (dots)")
	text(80, 250, "p99 of each second's ticks, ms")
	line(80, 220, 700, 220, "#444444", ""); line(80, 40, 80, 220, "#444444", "")
	line(80, 440, 700, 440, "#444444", ""); line(80, 260, 80, 440, "#444444", "")
	text(20, 46, most); text(20, 224, 0); text(20, 266, sprintf("%.1f", worst)); text(20, 444, 0)
	line(80, top(playing), 700, top(playing), "#bbbbbb", " stroke-dasharray='4 4'"); text(706, top(playing) + 4, "there before")
	line(x(0), 40, x(0), 440, "#bbbbbb", ""); text(x(0) + 4, 458, "the storm begins")
	text(660, 458, last " s")
	for (i = 1; i <= NR; i++) {
		c = colour[gates[i]]
		if (waiting[i] > 0) printf "<circle cx='%.1f' cy='%.1f' r='1.5' fill='%s'/>\n", x(second[i]), top(waiting[i]), c
		if (i == 1 || gates[i] != gates[i - 1]) continue
		line(x(second[i - 1]), top(players[i - 1]), x(second[i]), top(players[i]), c, " stroke-width='2'")
		line(x(second[i - 1]), low(ms[i - 1]), x(second[i]), low(ms[i]), c, " stroke-width='1.5'")
	}
	at = 80
	for (name in colour) {
		printf "<circle cx='%d' cy='480' r='5' fill='%s'/>\n", at + 5, colour[name]; text(at + 16, 484, "gates " name); at += 110
	}
	print "</svg>"
}
