#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/gen/game.h"

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Standard base64 with or without its padding. Returns bytes, 0 for what is none or too long. */
static uint32_t decode(const char *line, uint8_t *out)
{
	uint32_t bits = 0, held = 0, bytes = 0;

	for (; *line && *line != '=' && *line != '\n'; line++) {
		int value = digit(*line);

		if (value < 0)
			return 0;
		bits = bits << 6 | (uint32_t)value;
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		if (bytes == GAME_TICKET_MAX)
			return 0;
		out[bytes++] = (uint8_t)(bits >> held);
	}
	return bytes;
}

bool game_tickets_load(struct game_tickets *tickets, const char *path, uint32_t max)
{
	char line[2 * GAME_TICKET_MAX];
	FILE *file = fopen(path, "re");

	*tickets = (struct game_tickets){.bytes = calloc(max, sizeof(*tickets->bytes)),
		.ticket = calloc(max, sizeof(*tickets->ticket))};
	if (!file || !tickets->bytes || !tickets->ticket) {
		fprintf(stderr, "gen: %s: %s\n", path, strerror(errno));
		if (file)
			fclose(file);
		game_tickets_free(tickets);
		return false;
	}
	while (tickets->count < max && fgets(line, sizeof(line), file)) {
		uint32_t bytes = decode(line, tickets->ticket[tickets->count]);

		if (!bytes)
			break;
		tickets->bytes[tickets->count++] = (uint16_t)bytes;
	}
	fclose(file);
	if (tickets->count == max)
		return true;
	fprintf(stderr, "gen: %s: line %u is no ticket, and %u are wanted\n", path,
		tickets->count + 1, max);
	game_tickets_free(tickets);
	return false;
}

void game_tickets_free(struct game_tickets *tickets)
{
	free(tickets->bytes);
	free(tickets->ticket);
	*tickets = (struct game_tickets){0};
}
