# onemap_plot.awk: W3's plot from its two tables: awk -f onemap_plot.awk runs.tsv stages.tsv >plot.svg
#   runs.tsv    walk players held(yes|no) p50_ms p99_ms        (a run without figures has - in the last two)
#   stages.tsv  stage mean_ms share p50_ms p99_ms
# Above: the tick against players, filled where the number was held. Below: what the stages of the reported run take.
function x(players) { return 80 + players / players_max * 560 }
function y(ms) { return 300 - (ms > 55 ? 55 : ms) / 55 * 250 }
function text(at_x, at_y, what, more) { printf "<text x='%.1f' y='%.1f'%s>%s</text>\n", at_x, at_y, more, what }
function line(x1, y1, x2, y2, colour, more) {
	printf "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'%s/>\n", x1, y1, x2, y2, colour, more
}
BEGIN {
	FS = "\t"; runs = stages = 0
	colour["uniform"] = "#2266aa"; colour["game"] = "#118844"; colour["crowd"] = "#cc7711"; colour["stock"] = "#888888"
}
FILENAME == ARGV[1] {
	walk[runs] = $1; players[runs] = $2; held[runs] = $3; p50[runs] = $4; p99[runs] = $5
	if ($2 > players_max) players_max = $2
	runs++
	next
}
{ stage[stages] = $1; mean[stages] = $2; s50[stages] = $4; s99[stages] = $5; if ($5 > stage_max) stage_max = $5; stages++ }
END {
	step = 1000
	while (step * 8 < players_max) step *= step ~ /^2/ ? 2.5 : 2
	players_max = players_max ? players_max * 1.05 : 1
	printf "<svg xmlns='http://www.w3.org/2000/svg' width='820' height='%d' font-family='sans-serif' font-size='12'>\n", 380 + stages * 22
	printf "<rect width='100%%' height='100%%' fill='white'/>\n"
	text(80, 24, "W3: one map, milliseconds of a tick (p50 small, p99 large; hollow: not held)")
	for (ms = 0; ms <= 50; ms += 10) { line(80, y(ms), 640, y(ms), "#dddddd", ""); text(52, y(ms) + 4, ms, "") }
	line(80, y(25), 640, y(25), "#cc2222", " stroke-dasharray='6 4'"); text(646, y(25) + 4, "half the budget", " fill='#cc2222'")
	for (n = 0; n <= players_max; n += step) { line(x(n), 300, x(n), 304, "#444444", ""); text(x(n) - 14, 318, n, "") }
	line(80, 300, 640, 300, "#444444", ""); line(80, 50, 80, 300, "#444444", "")
	for (i = 0; i < runs; i++) {
		c = walk[i] in colour ? colour[walk[i]] : "#444444"
		seen[walk[i]] = c
		if (p99[i] == "-") { text(x(players[i]) - 4, y(52), "x", sprintf(" fill='%s'", c)); continue }
		printf "<circle cx='%.1f' cy='%.1f' r='5' stroke='%s' fill='%s'/>\n", x(players[i]), y(p99[i]), c, held[i] == "yes" ? c : "none"
		printf "<circle cx='%.1f' cy='%.1f' r='2.5' stroke='%s' fill='%s'/>\n", x(players[i]), y(p50[i]), c, held[i] == "yes" ? c : "none"
	}
	at = 80
	for (name in colour) if (name in seen) {
		printf "<circle cx='%d' cy='336' r='5' fill='%s'/>\n", at + 5, seen[name]; text(at + 16, 340, name, ""); at += 110
	}
	for (i = 0; i < stages; i++) {
		at = 366 + i * 22
		text(10, at + 12, stage[i], "")
		printf "<rect x='80' y='%d' width='%.1f' height='14' fill='#88aacc'/>\n", at, mean[i] / (stage_max + 1e-9) * 480
		line(80 + s50[i] / (stage_max + 1e-9) * 480, at - 1, 80 + s50[i] / (stage_max + 1e-9) * 480, at + 15, "#113355", " stroke-width='2'")
		line(80 + s99[i] / (stage_max + 1e-9) * 480, at - 1, 80 + s99[i] / (stage_max + 1e-9) * 480, at + 15, "#cc2222", " stroke-width='2'")
		text(570, at + 12, sprintf("%.2f ms, p50 %.2f, p99 %.2f", mean[i], s50[i], s99[i]), "")
	}
	print "</svg>"
}
