/* sample_walk: the client library in one page. Connects, walks a square, prints who it sees,
 *leaves.
 *
 *	stormweir-walk ADDRESS PORT TICKET-FILE     (the ticket's raw bytes) */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client/stormweir.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void see(void *ctx, struct swc_client *client, const struct swc_event *event)
{
	const struct swc_self *self = swc_self(client);

	(void)ctx;
	switch (event->type) {
	case SWC_EVENT_JOINED:
		printf("joined %s as actor %u at %d, %d mm\n", self->map, self->actor_id,
			self->x_mm, self->y_mm);
		break;
	case SWC_EVENT_ENTER:
		printf("+ actor %u at %d, %d mm\n", event->actor->actor_id, event->actor->x_mm,
			event->actor->y_mm);
		break;
	case SWC_EVENT_LEAVE:
		printf("- actor %u\n", event->actor->actor_id);
		break;
	case SWC_EVENT_REFUSED:
		printf("refused: %s\n", event->refused.text);
		break;
	case SWC_EVENT_DISCONNECTED:
		printf("disconnected: %s\n", event->disconnected.text);
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	static const int square[][2] = {{127, 0}, {0, 127}, {-127, 0}, {0, -127}};
	static uint8_t ticket[SWC_TICKET_BYTES_MAX];
	struct swc_config config = {
		.ticket = ticket, .client_build = "sample_walk", .on_event = see};
	struct swc_client *client;
	uint64_t joined_ns = 0, now;
	FILE *file;

	if (argc != 4 || !(file = fopen(argv[3], "rb"))) {
		fprintf(stderr, "usage: %s ADDRESS PORT TICKET-FILE\n", argv[0]);
		return 2;
	}
	config.address = argv[1];
	config.port = (uint16_t)atoi(argv[2]);
	config.ticket_bytes = (uint32_t)fread(ticket, 1, sizeof(ticket), file);
	fclose(file);
	if (swc_open(&config, &client)) {
		fprintf(stderr, "%s: cannot begin to connect\n", argv[0]);
		return 1;
	}

	while (swc_service(client, now = now_ns()) != SWC_CLOSED) {
		struct pollfd socket = {.fd = swc_fd(client), .events = POLLIN};
		uint64_t due = swc_due_ns(client);

		if (swc_state(client) == SWC_PLAYING) {
			uint64_t side;

			joined_ns = joined_ns ? joined_ns : now;
			side = (now - joined_ns) / 1000000000u; /* a side a second */
			if (side < 4)
				swc_walk(client, square[side][0], square[side][1]);
			else if (swc_walk(client, 0, 0), side > 4)
				swc_leave(client);
		}
		poll(&socket, 1, due > now ? (int)((due - now) / 1000000u) + 1 : 0);
	}
	printf("back at %d, %d mm after %llu inputs, %llu corrections\n", swc_self(client)->x_mm,
		swc_self(client)->y_mm, (unsigned long long)swc_stats(client)->inputs,
		(unsigned long long)swc_stats(client)->corrections);
	swc_close(client);
	return 0;
}
