#include "client/bot/show.h"

#include <string.h>

#define COLUMNS        61
#define ROWS           23
#define COLUMN_MM      1000 /* a character is about twice as high as wide */
#define ROW_MM         2000
#define CELL(row, col) cells[(row)*COLUMNS + (col)]

static const char *const colours[] = {['@'] = "\033[1;33m",
	['o'] = "\033[36m",
	['N'] = "\033[1;32m",
	['m'] = "\033[31m",
	['#'] = "\033[2m"};

void show_text(FILE *out, const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	for (; *byte; byte++) {
		if (*byte < 0x20 || *byte == 0x7f) {
			fputc('?', out);
		} else if (*byte == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0) { /* C1 controls */
			fputc('?', out);
			byte++;
		} else {
			fputc(*byte, out);
		}
	}
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static void place(char *cells, const struct swc_self *self, int64_t x_mm, int64_t y_mm, char what)
{
	int64_t col = floor_div(x_mm, COLUMN_MM) - floor_div(self->x_mm, COLUMN_MM) + COLUMNS / 2;
	int64_t row = floor_div(self->y_mm, ROW_MM) - floor_div(y_mm, ROW_MM) + ROWS / 2;

	if (col >= 0 && col < COLUMNS && row >= 0 && row < ROWS)
		CELL(row, col) = what;
}

static void draw(char *cells, const struct bot *bot)
{
	static const char kinds[] = {'?', 'o', 'N', 'm'};
	const struct swc_self *self = swc_self(bot->client);
	const struct swc_ground *ground = swc_ground(bot->client);

	for (int row = 0; row < ROWS; row++) {
		for (int col = 0; col < COLUMNS; col++) {
			int64_t x =
				(floor_div(self->x_mm, COLUMN_MM) + col - COLUMNS / 2) * COLUMN_MM;
			int64_t y = (floor_div(self->y_mm, ROW_MM) - row + ROWS / 2) * ROW_MM;

			CELL(row, col) =
				x < 0 || y < 0 || x >= self->width_mm || y >= self->height_mm ||
						(ground && swc_ground_solid_at(ground,
								   (int32_t)x + COLUMN_MM / 2,
								   (int32_t)y + ROW_MM / 2))
					? '#'
				: x % (5 * COLUMN_MM) == 0 && y % (4 * ROW_MM) == 0 ? '.'
										    : ' ';
		}
	}
	for (uint32_t i = 0; i < swc_actors(bot->client); i++) {
		const struct swc_actor *actor = swc_actor_at(bot->client, i);

		place(cells, self, actor->x_mm, actor->y_mm, kinds[actor->kind]);
	}
	place(cells, self, self->x_mm, self->y_mm, '@');
}

void show_frame(FILE *out, const struct bot *bot, bool terminal)
{
	const struct swc_self *self = swc_self(bot->client);
	const struct swc_stats *stats = swc_stats(bot->client);
	const char *end = terminal ? "\033[K\n" : "\n";
	char cells[ROWS * COLUMNS];

	if (terminal)
		fputs("\033[H", out);
	if (bot->queued) {
		fprintf(out, "waiting: position %u, about %u s; %s%s", bot->queue_position,
			(bot->queue_wait_ms + 999) / 1000, swc_queue_text(bot->queue_state), end);
		if (terminal)
			fputs("\033[J", out);
		fflush(out);
		return;
	}
	if (!bot->joined) {
		fprintf(out, "not on a map yet%s", end);
		return;
	}
	draw(cells, bot);
	show_text(out, self->map);
	fprintf(out, "  %.1f m, %.1f m  in view %u  rtt %u ms  corrections %llu  lost %llu%s",
		self->x_mm / 1000.0, self->y_mm / 1000.0, swc_actors(bot->client), stats->rtt_ms,
		(unsigned long long)stats->corrections, (unsigned long long)stats->reliable_lost,
		end);
	for (int row = 0; row < ROWS; row++) {
		for (int col = 0; col < COLUMNS; col++) {
			unsigned char what = (unsigned char)CELL(row, col);
			const char *colour =
				what < sizeof(colours) / sizeof(colours[0]) ? colours[what] : NULL;

			if (terminal && colour)
				fprintf(out, "%s%c\033[0m", colour, what);
			else
				fputc(what, out);
		}
		fputs(end, out);
	}
	fprintf(out, "@ you  o player  N npc  m monster  # wall or outside  one column is %d m%s",
		COLUMN_MM / 1000, end);
	if (bot->has_dialogue) {
		fputs("\"", out);
		show_text(out, bot->dialogue);
		fprintf(out, "\"%s", end);
	}
	if (terminal)
		fputs("\033[J", out);
	fflush(out);
}
