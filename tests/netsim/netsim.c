/* netsim.c: see netsim.h. Datagrams under way are a heap by time of arrival; what has arrived is a
 * queue per address. */
#include <stdlib.h>
#include <string.h>

#include "tests/netsim/netsim.h"

struct datagram {
	struct datagram *next;
	struct netsim_address from, to;
	uint64_t due_ms, serial;
	size_t bytes;
	uint8_t data[];
};

struct inbox {
	struct netsim_address at;
	struct datagram *head, **tail;
};

struct netsim {
	struct netsim_config config;
	uint64_t now_ms, random, serial;
	netsim_filter filter;
	void *filter_ctx;
	struct datagram **heap;
	size_t heap_count, heap_room;
	struct inbox *inboxes;
	size_t inbox_count, inbox_room;
	struct netsim_counts counts;
};

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct netsim *netsim_new(const struct netsim_config *config, uint64_t start_ms)
{
	struct netsim *sim = need(calloc(1, sizeof *sim));

	sim->config = *config;
	sim->random = config->seed;
	sim->now_ms = start_ms;
	return sim;
}

void netsim_free(struct netsim *sim)
{
	for (size_t i = 0; i < sim->heap_count; i++)
		free(sim->heap[i]);
	for (size_t i = 0; i < sim->inbox_count; i++) {
		while (sim->inboxes[i].head) {
			struct datagram *next = sim->inboxes[i].head->next;

			free(sim->inboxes[i].head);
			sim->inboxes[i].head = next;
		}
	}
	free(sim->heap);
	free(sim->inboxes);
	free(sim);
}

void netsim_configure(struct netsim *sim, const struct netsim_config *config)
{
	sim->config = *config;
}

void netsim_filter_set(struct netsim *sim, netsim_filter filter, void *ctx)
{
	sim->filter = filter;
	sim->filter_ctx = ctx;
}

uint64_t netsim_now_ms(const struct netsim *sim)
{
	return sim->now_ms;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(struct netsim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t netsim_random(struct netsim *sim, uint32_t below)
{
	return (uint32_t)((draw(sim) >> 32) * below >> 32);
}

static bool chance(struct netsim *sim, double p)
{
	return (double)(draw(sim) >> 11) * 0x1p-53 < p;
}

static bool sooner(const struct datagram *a, const struct datagram *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->serial < b->serial;
}

static void heap_push(struct netsim *sim, struct datagram *d)
{
	size_t at = sim->heap_count++;

	if (sim->heap_count > sim->heap_room) {
		sim->heap_room = sim->heap_room ? 2 * sim->heap_room : 256;
		sim->heap = need(realloc(sim->heap, sim->heap_room * sizeof *sim->heap));
	}
	for (; at && sooner(d, sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
		sim->heap[at] = sim->heap[(at - 1) / 2];
	sim->heap[at] = d;
}

static struct datagram *heap_pop(struct netsim *sim)
{
	struct datagram *top = sim->heap[0], *last = sim->heap[--sim->heap_count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= sim->heap_count)
			break;
		if (child + 1 < sim->heap_count && sooner(sim->heap[child + 1], sim->heap[child]))
			child++;
		if (!sooner(sim->heap[child], last))
			break;
		sim->heap[at] = sim->heap[child];
		at = child;
	}
	sim->heap[at] = last;
	return top;
}

static struct inbox *inbox_of(struct netsim *sim, struct netsim_address at)
{
	struct inbox *inbox;

	for (size_t i = 0; i < sim->inbox_count; i++) {
		inbox = &sim->inboxes[i];
		if (inbox->at.ip == at.ip && inbox->at.port == at.port)
			return inbox;
	}
	if (sim->inbox_count == sim->inbox_room) {
		sim->inbox_room = sim->inbox_room ? 2 * sim->inbox_room : 16;
		sim->inboxes = need(realloc(sim->inboxes, sim->inbox_room * sizeof *sim->inboxes));
		for (size_t i = 0; i < sim->inbox_count; i++) {
			if (!sim->inboxes[i].head)
				sim->inboxes[i].tail = &sim->inboxes[i].head;
		}
	}
	inbox = &sim->inboxes[sim->inbox_count++];
	*inbox = (struct inbox){.at = at};
	inbox->tail = &inbox->head;
	return inbox;
}

void netsim_advance(struct netsim *sim, uint64_t ms)
{
	sim->now_ms += ms;
	while (sim->heap_count && sim->heap[0]->due_ms <= sim->now_ms) {
		struct datagram *d = heap_pop(sim);
		struct inbox *inbox = inbox_of(sim, d->to);

		*inbox->tail = d;
		inbox->tail = &d->next;
	}
}

static void post(struct netsim *sim, struct netsim_address from, struct netsim_address to,
	const void *data, size_t bytes)
{
	struct datagram *d = need(malloc(sizeof *d + bytes));
	uint32_t spread = sim->config.delay_max_ms - sim->config.delay_min_ms;

	*d = (struct datagram){.from = from, .to = to, .bytes = bytes, .serial = sim->serial++};
	d->due_ms = sim->now_ms + sim->config.delay_min_ms + netsim_random(sim, spread + 1);
	memcpy(d->data, data, bytes);
	if (bytes && chance(sim, sim->config.corrupt))
		d->data[netsim_random(sim, (uint32_t)bytes)] ^=
			(uint8_t)(1 + netsim_random(sim, 255));
	if (sim->config.truncate > 0 && bytes > NETSIM_TRUNCATE_BYTES &&
		chance(sim, sim->config.truncate))
		d->bytes = NETSIM_TRUNCATE_BYTES +
			   netsim_random(sim, (uint32_t)bytes - NETSIM_TRUNCATE_BYTES);
	heap_push(sim, d);
}

void netsim_send(struct netsim *sim, struct netsim_address from, struct netsim_address to,
	const void *data, size_t bytes)
{
	sim->counts.sent++;
	sim->counts.bytes += bytes;
	if ((sim->filter && !sim->filter(sim->filter_ctx, from, to, data, bytes)) ||
		chance(sim, sim->config.loss)) {
		sim->counts.lost++;
		return;
	}
	post(sim, from, to, data, bytes);
	if (chance(sim, sim->config.repeat)) {
		sim->counts.repeated++;
		post(sim, from, to, data, bytes);
	}
}

int netsim_receive(struct netsim *sim, struct netsim_address at, struct netsim_address *from,
	void *data, size_t capacity)
{
	struct inbox *inbox = inbox_of(sim, at);
	struct datagram *d = inbox->head;
	size_t bytes;

	if (!d)
		return -1;
	inbox->head = d->next;
	if (!inbox->head)
		inbox->tail = &inbox->head;
	bytes = d->bytes < capacity ? d->bytes : capacity;
	memcpy(data, d->data, bytes);
	*from = d->from;
	sim->counts.delivered++;
	free(d);
	return (int)bytes;
}

uint64_t netsim_next_ms(const struct netsim *sim)
{
	return sim->heap_count ? sim->heap[0]->due_ms : UINT64_MAX;
}

struct netsim_counts netsim_counts(const struct netsim *sim)
{
	return sim->counts;
}
