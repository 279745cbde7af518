/* stock_game: the reference of W3: what a game server on unmodified libenet and kernel sockets does
 * for the same players, one thread.   stormweir-stock-game ADDRESS PORT PEERS WIDTH-M SETTLE
 * SECONDS
 *
 * An ENet host has at most 4,095 peers: the next ones are those of a second host on the next port,
 * and so on, all serviced by the one thread, all on one map.
 *
 * The same messages come in (Hello, InputBatch; the ticket is not looked at) and updates of the
 * same size go out (Joined, WorldUpdate, ViewChange): 20 ticks a second, each applies an input a
 * player, moves it, sorts all into cells of 4/7 of 40 m, which one leaves an eighth of a cell
 * outside, and sends each player what moves in the 5 x 5 cells around it, at most 1,350 bytes, and
 * who came and who went by a list of whom it knows. It does nothing else: no saves, no checks of
 * speed, no scripts, nobody loaded; walls there are none. SETTLE seconds after all PEERS are in it
 * measures for SECONDS, prints a line a figure, and goes on. */
#include <enet/enet.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/message_types.h"
#include "simulation/wire.h"

#define HZ         20u
#define TICK_NS    (1000000000ull / HZ)
#define CELL_MM    (40000 * 4 / 7)
#define MARGIN_MM  (CELL_MM / 8)
#define RADIUS     2
#define SPEED_MM   250 /* a tick */
#define BYTES_MAX  1350u
#define KNOWN_MAX  256u
#define RECORD_MAX 32u
#define TICKS_MAX  (1u << 20)
#define HOST_PEERS 4095u /* ENET_PROTOCOL_MAXIMUM_PEER_ID */
#define HOSTS_MAX  16u

struct player {
	ENetPeer *peer; /* NULL: nobody */
	int32_t x, y;
	int8_t dx, dy;
	uint32_t heard, applied, view;
	uint32_t cell, next; /* index + 1 of the next in its cell */
	uint32_t known_count;
	uint16_t known[KNOWN_MAX], was[KNOWN_MAX];
	uint8_t record[RECORD_MAX];
	uint32_t record_bytes;
};

static struct player *players;
static ENetHost *hosts[HOSTS_MAX];
static uint32_t host_count;
static uint64_t idle_ns; /* in calls that found nothing */
static uint32_t *cells, columns, tick, peers_max, playing;
static int32_t width_mm;
static uint16_t *stamp;
static volatile sig_atomic_t stop;
static uint64_t random_state = 88172645463325252ull;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static uint32_t random_below(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * below >> 32);
}

static void say(const struct player *p, uint8_t channel, uint32_t flags, const uint8_t *bytes,
	uint32_t count)
{
	ENetPacket *packet = enet_packet_create(bytes, count, flags);

	if (packet && enet_peer_send(p->peer, channel, packet))
		enet_packet_destroy(packet);
}

static void join(struct player *p)
{
	uint8_t bytes[128], *at = bytes;

	p->x = (int32_t)random_below((uint32_t)width_mm);
	p->y = (int32_t)random_below((uint32_t)width_mm);
	*at++ = SW_MSG_JOINED;
	at = wire_u32(at, 1, (uint32_t)(p - players) + 1);
	at = wire_bytes(at, 2, "field", 5);
	at = wire_u32(at, 3, (uint32_t)width_mm);
	at = wire_u32(at, 4, (uint32_t)width_mm);
	at = wire_s32(at, 5, p->x);
	at = wire_s32(at, 6, p->y);
	at = wire_u32(at, 8, tick);
	at = wire_u32(at, 9, HZ);
	at = wire_u32(at, 10, 5000);
	say(p, SW_CHANNEL_SESSION, ENET_PACKET_FLAG_RELIABLE, bytes, (uint32_t)(at - bytes));
	playing++;
}

static uint32_t varint(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = 0;

	for (uint32_t shift = 0; *at < end && shift < 35; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* The newest of a batch. */
static void take_input(struct player *p, const uint8_t *at, const uint8_t *end)
{
	uint32_t sequence = 0, count = 0;
	int32_t axis[2] = {0, 0};

	if (at < end && *at == 1 << 3) {
		at++;
		sequence = varint(&at, end);
	}
	while (at + 1 < end && *at == (2 << 3 | 2)) {
		const uint8_t *input_end = at + 2 + at[1];

		if (input_end > end)
			return;
		at += 2;
		axis[0] = axis[1] = 0;
		while (at < input_end) {
			uint32_t field = *at++ >> 3, value = varint(&at, input_end);

			if (field == 1 || field == 2)
				axis[field - 1] = (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
		}
		count++;
	}
	if (!count || (int32_t)(sequence + count - 1 - p->heard) <= 0)
		return;
	p->heard = sequence + count - 1;
	p->dx = (int8_t)axis[0];
	p->dy = (int8_t)axis[1];
}

static void receive(struct player *p, ENetEvent *event)
{
	const uint8_t *data = event->packet->data;

	if (event->packet->dataLength && data[0] == SW_MSG_HELLO && !p->peer) {
		memset(p, 0, sizeof(*p));
		p->peer = event->peer;
		join(p);
	} else if (event->packet->dataLength && data[0] == SW_MSG_INPUT && p->peer) {
		take_input(p, data + 1, data + event->packet->dataLength);
	}
	enet_packet_destroy(event->packet);
}

static int32_t clamp(int32_t value)
{
	return value < 0 ? 0 : value >= width_mm ? width_mm - 1 : value;
}

/* The cell of its place, unless it is still near the one that it was in: else whoever walks along
 * an edge would come and go for all around. */
static uint32_t follow(const struct player *p)
{
	int32_t x0 = (int32_t)(p->cell % columns) * CELL_MM,
		y0 = (int32_t)(p->cell / columns) * CELL_MM;

	if (p->x >= x0 - MARGIN_MM && p->x < x0 + CELL_MM + MARGIN_MM && p->y >= y0 - MARGIN_MM &&
		p->y < y0 + CELL_MM + MARGIN_MM)
		return p->cell;
	return (uint32_t)(p->y / CELL_MM) * columns + (uint32_t)(p->x / CELL_MM);
}

static void move(struct player *p)
{
	double length = ceil(sqrt(p->dx * p->dx + p->dy * p->dy));
	uint8_t *at = p->record + 2, *body = at;
	uint32_t i = (uint32_t)(p - players);

	if (length < 127)
		length = 127;
	p->x = clamp(p->x + (int32_t)(SPEED_MM * p->dx / length));
	p->y = clamp(p->y + (int32_t)(SPEED_MM * p->dy / length));
	p->applied = p->heard;
	at = wire_u32(at, 1, i + 1);
	at = wire_s32(at, 2, p->x);
	at = wire_s32(at, 3, p->y);
	at = wire_u32(at, 4,
		(uint32_t)(uint16_t)(int32_t)(atan2(p->dy, p->dx) * (32768 / 3.14159265358979)));
	at = wire_u32(at, 5, 5000);
	p->record[0] = 3 << 3 | 2;
	p->record[1] = (uint8_t)(at - body);
	p->record_bytes = (uint32_t)(at - p->record);
	p->cell = follow(p);
	p->next = cells[p->cell];
	cells[p->cell] = i + 1;
}

/* Who is in `was` and not stamped left; who is known and was not before entered. */
static void tell_view(struct player *p, uint32_t was_count)
{
	uint8_t bytes[32768], leaves[5 * KNOWN_MAX], *at = bytes, *leave = leaves;
	uint32_t enters = 0;

	*at++ = SW_MSG_VIEW_CHANGE;
	at = wire_u32(at, 1, tick);
	at = wire_u32(at, 2, p->view + 1);
	/* stamp holds 1 for who is known now, 2 for who was and is */
	for (uint32_t i = 0; i < was_count; i++) {
		if (stamp[p->was[i]] == 1)
			stamp[p->was[i]] = 2;
		else
			leave = wire_varint(leave, p->was[i] + 1u);
	}
	for (uint32_t i = 0; i < p->known_count; i++) {
		const struct player *other = &players[p->known[i]];
		uint8_t enter[96], *to = enter;

		if (stamp[p->known[i]] == 1) {
			to = wire_bytes(to, 1, other->record + 2, other->record_bytes - 2);
			to = wire_u32(to, 2, 1);
			to = wire_bytes(to, 3, "walker12345", 11);
			to = wire_u32(to, 4, 0x808080);
			at = wire_bytes(at, 3, enter, (uint32_t)(to - enter));
			enters++;
		}
		stamp[p->known[i]] = 0;
	}
	if (!enters && leave == leaves)
		return;
	if (leave != leaves)
		at = wire_bytes(at, 4, leaves, (uint32_t)(leave - leaves));
	p->view++;
	say(p, SW_CHANNEL_EVENTS, ENET_PACKET_FLAG_RELIABLE, bytes, (uint32_t)(at - bytes));
}

static void update(struct player *p)
{
	uint8_t bytes[BYTES_MAX], *at = bytes;
	int32_t column = (int32_t)(p->cell % columns), row = (int32_t)(p->cell / columns);
	uint32_t was_count = p->known_count, self = (uint32_t)(p - players);

	memcpy(p->was, p->known, sizeof(p->was));
	p->known_count = 0;
	*at++ = SW_MSG_WORLD_UPDATE;
	at = wire_u32(at, 1, tick);
	at = wire_u32(at, 2, p->applied);
	for (int32_t y = row - RADIUS; y <= row + RADIUS; y++) {
		for (int32_t x = column - RADIUS; x <= column + RADIUS; x++) {
			if (x < 0 || y < 0 || x >= (int32_t)columns || y >= (int32_t)columns)
				continue;
			for (uint32_t i = cells[(uint32_t)y * columns + (uint32_t)x]; i;
				i = players[i - 1].next) {
				const struct player *other = &players[i - 1];

				if (at + other->record_bytes <= bytes + sizeof(bytes)) {
					memcpy(at, other->record, other->record_bytes);
					at += other->record_bytes;
				}
				if (i - 1 == self || p->known_count == KNOWN_MAX)
					continue;
				p->known[p->known_count++] = (uint16_t)(i - 1);
				stamp[i - 1] = 1;
			}
		}
	}
	say(p, SW_CHANNEL_WORLD, 0, bytes, (uint32_t)(at - bytes));
	tell_view(p, was_count);
}

static void run_tick(void)
{
	tick++;
	memset(cells, 0, (size_t)columns * columns * sizeof(*cells));
	for (uint32_t i = 0; i < peers_max; i++)
		if (players[i].peer)
			move(&players[i]);
	for (uint32_t i = 0; i < peers_max; i++)
		if (players[i].peer)
			update(&players[i]);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* late: how long after it was due a tick had all that it sends on its way. */
static void report(uint32_t *late_us, uint32_t ticks, uint64_t wall_ns, uint32_t lost)
{
	qsort(late_us, ticks, sizeof(*late_us), by_value);
	printf("stock_players %u\nstock_seconds %.3f\nstock_ticks %u\nstock_tick_p50_us %u\n"
	       "stock_tick_p99_us %u\nstock_idle_percent %.1f\nstock_disconnects %u\nstock: done\n",
		playing, (double)wall_ns / 1e9, ticks, late_us[ticks / 2],
		late_us[ticks * 99 / 100], (double)idle_ns * 100 / (double)wall_ns, lost);
	fflush(stdout);
}

/* What the host has, until the time is up. Returns players that it lost. */
static uint32_t service_host(uint32_t number, uint64_t until_ns, bool *any)
{
	ENetEvent event;
	uint32_t lost = 0;

	while (enet_host_service(hosts[number], &event, 0) > 0) {
		struct player *p = &players[number * HOST_PEERS + event.peer->incomingPeerID];

		*any = true;
		if (event.type == ENET_EVENT_TYPE_RECEIVE) {
			receive(p, &event);
		} else if (event.type == ENET_EVENT_TYPE_DISCONNECT && p->peer) {
			p->peer = NULL;
			playing--;
			lost++;
		}
		if (now_ns(CLOCK_MONOTONIC) >= until_ns)
			break;
	}
	return lost;
}

/* Services the hosts until the next tick is due, at least once. */
static uint32_t service(uint64_t until_ns)
{
	uint32_t lost = 0;

	do {
		uint64_t before_ns = now_ns(CLOCK_MONOTONIC);
		bool any = false;

		for (uint32_t i = 0; i < host_count; i++)
			lost += service_host(i, until_ns, &any);
		idle_ns += any ? 0 : now_ns(CLOCK_MONOTONIC) - before_ns;
	} while (now_ns(CLOCK_MONOTONIC) < until_ns && !stop);
	return lost;
}

static void run(uint32_t wanted, uint32_t settle_s, uint32_t seconds)
{
	uint32_t *late_us = calloc(TICKS_MAX, sizeof(*late_us)), ticks = 0, lost = 0;
	uint64_t due_ns = now_ns(CLOCK_MONOTONIC), start_ns = 0;

	while (!stop && late_us) {
		uint64_t now;

		lost += service(due_ns);
		run_tick();
		for (uint32_t i = 0; i < host_count; i++)
			enet_host_flush(hosts[i]);
		now = now_ns(CLOCK_MONOTONIC);
		if (!start_ns || now < start_ns)
			idle_ns = 0;
		if (playing == wanted && !start_ns) {
			start_ns =
				now + settle_s * 1000000000ull; /* the views that all get at once */
			lost = 0;
		}
		if (start_ns && now >= start_ns && seconds && ticks < TICKS_MAX) {
			late_us[ticks++] = (uint32_t)((now - due_ns) / 1000);
			if (now >= start_ns + seconds * 1000000000ull) {
				report(late_us, ticks, now - start_ns, lost);
				seconds = 0;
			}
		}
		due_ns += TICK_NS;
		while (now >= due_ns + TICK_NS)
			due_ns += TICK_NS; /* a tick is left out */
	}
	free(late_us);
}

static bool open_hosts(const char *text, uint32_t port)
{
	ENetAddress address;

	host_count = (peers_max + HOST_PEERS - 1) / HOST_PEERS;
	if (!host_count || host_count > HOSTS_MAX || enet_address_set_host(&address, text)) {
		fprintf(stderr, "stock-game: %s is not an IPv4 address, or not 1 to %u peers\n",
			text, HOSTS_MAX * HOST_PEERS);
		return false;
	}
	for (uint32_t i = 0; i < host_count; i++) {
		uint32_t left = peers_max - i * HOST_PEERS;

		address.port = (enet_uint16)(port + i);
		hosts[i] = enet_host_create(
			&address, left < HOST_PEERS ? left : HOST_PEERS, SW_CHANNELS, 0, 0);
		if (!hosts[i]) {
			fprintf(stderr, "stock-game: no host on %s:%u\n", text, port + i);
			return false;
		}
		enet_socket_set_option(hosts[i]->socket, ENET_SOCKOPT_RCVBUF, 8 << 20);
		enet_socket_set_option(hosts[i]->socket, ENET_SOCKOPT_SNDBUF, 8 << 20);
	}
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "stormweir-stock-game ADDRESS PORT PEERS WIDTH-M SETTLE SECONDS\n");
		return 2;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	peers_max = (uint32_t)atoi(argv[3]);
	width_mm = atoi(argv[4]) * 1000;
	columns = (uint32_t)(width_mm / CELL_MM) + 1;
	players = calloc(peers_max + 1, sizeof(*players));
	cells = calloc((size_t)columns * columns, sizeof(*cells));
	stamp = calloc(peers_max + 1, sizeof(*stamp));
	if (!players || !cells || !stamp || enet_initialize()) {
		fprintf(stderr, "stock-game: no memory\n");
		return 1;
	}
	if (!open_hosts(argv[1], (uint32_t)atoi(argv[2])))
		return 1;
	printf("stock: ready\n");
	fflush(stdout);
	run(peers_max, (uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6]));
	for (uint32_t i = 0; i < host_count; i++)
		enet_host_destroy(hosts[i]);
	enet_deinitialize();
	return 0;
}
