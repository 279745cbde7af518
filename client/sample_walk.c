/* sample_walk: the client library in one page. Connects, walks a square, prints who it sees,
 *leaves.
 *
 *	stormweir-walk ADDRESS PORT TICKET-FILE [MAP-FILE...]
 *
 * The ticket is its raw bytes. Map files (Tiled's JSON, as the server has them) let it stop at
 *walls by itself. */
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
	case SWC_EVENT_WALLS_UNKNOWN:
		printf("the walls of %s are not among the map files: the server will correct "
		       "what walks into one\n",
			self->map);
		break;
	case SWC_EVENT_ENTER:
		printf("+ actor %u at %d, %d mm\n", event->actor->actor_id, event->actor->x_mm,
			event->actor->y_mm);
		break;
	case SWC_EVENT_LEAVE:
		printf("- actor %u\n", event->actor->actor_id);
		break;
	case SWC_EVENT_QUEUED:
		printf("waiting: position %u, about %u s; %s\n", event->queued.position,
			(event->queued.wait_ms + 999) / 1000, swc_queue_text(event->queued.state));
		break;
	case SWC_EVENT_REDIRECTED:
		printf("sent on to %s\n", event->redirected.address);
		break;
	case SWC_EVENT_CAME_BACK:
		printf("not let in there, and waits again: %s\n", event->came_back.text);
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

/* Gives the client every map file of the command line; they live as long as the program. */
static bool use_maps(struct swc_client *client, char *const *paths)
{
	for (; *paths; paths++) {
		struct swc_ground *ground;
		char why[1024];

		if (swc_ground_load(*paths, &ground, why, sizeof(why))) {
			fprintf(stderr, "%s", why);
			return false;
		}
		if (swc_use_ground(client, ground))
			return false;
	}
	return true;
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

	if (argc < 4 || !(file = fopen(argv[3], "rb"))) {
		fprintf(stderr, "usage: %s ADDRESS PORT TICKET-FILE [MAP-FILE...]\n", argv[0]);
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

	if (!use_maps(client, argv + 4))
		return 1;
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
