#include "client/bot/tickets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

struct ticket *tickets_load(const char *path, uint32_t skip, uint64_t count)
{
	struct ticket *tickets = calloc(count, sizeof(*tickets));
	uint32_t line = 0, found = 0;
	uint64_t taken = 0;
	FILE *file = fopen(path, "r");
	char text[2048];

	if (!tickets || !file) {
		fprintf(stderr, "stormweir-bot: %s: %s\n", path, strerror(errno));
		goto fail;
	}
	while (taken < count && fgets(text, sizeof(text), file)) {
		struct ticket *ticket = &tickets[taken];
		size_t bytes;

		line++;
		text[strcspn(text, "\r\n")] = '\0';
		if (!text[0] || text[0] == '#' || found++ < skip)
			continue;
		if (sodium_base642bin(ticket->data, sizeof(ticket->data), text, strlen(text), NULL,
			    &bytes, NULL, sodium_base64_VARIANT_ORIGINAL) ||
			!bytes) {
			fprintf(stderr, "stormweir-bot: %s:%u: not a base64 ticket\n", path, line);
			goto fail;
		}
		ticket->bytes = (uint32_t)bytes;
		taken++;
	}
	if (taken < count) {
		fprintf(stderr, "stormweir-bot: %s: %llu tickets wanted, %u there\n", path,
			(unsigned long long)(skip + count), found);
		goto fail;
	}
	fclose(file);
	return tickets;

fail:
	if (file)
		fclose(file);
	free(tickets);
	return NULL;
}
