/* range_coder.c: see range_coder.h. The constants are the format's. */
#include <stdbool.h>
#include <string.h>

#include "dataplane/enet/range_coder.h"

#define TOP    (1u << 24)
#define BOTTOM (1u << 16)

#define ORDER_MAX   2u
#define STEP        2u /* what a byte gains in a context when it comes */
#define STEP_ROOT   3u
#define STEP_ESCAPE 5u
#define TOTAL_MAX   (BOTTOM - 0x100u)
#define COUNT_MAX   (0xffu - 2 * STEP)
#define ROOT_MAX    (0xffu - 2 * STEP_ROOT) /* without the 1 that each byte has */

static void model_reset(struct range_coder *c)
{
	c->next = 1;
	c->context = 0;
	c->order = 0;
	memset(c->count, 0, sizeof c->count);
	memset(c->group_sum, 0, sizeof c->group_sum);
	memset(c->node, 0, sizeof c->node);
	c->escapes = 1;
	c->total = (uint16_t)(c->escapes + RANGE_VALUES);
}

static uint16_t node_new(struct range_coder *c, uint8_t value, uint8_t count)
{
	uint16_t at = (uint16_t)c->next++;

	c->nodes[at] = (struct range_node){.value = value, .count = count};
	return at;
}

/* Where a byte lies in a context: the counts of the bytes below it, and its own; 0: it is new. */
struct place {
	uint32_t under, count;
};

/* The byte comes in a context: says where it lay, and counts it. Returns its node. */
static uint16_t context_learn(
	struct range_coder *c, uint16_t context, uint8_t value, struct place *place)
{
	uint16_t *link = &c->nodes[context].first, found = 0;

	*place = (struct place){0, 0};
	for (uint32_t bit = 0x80; *link; bit >>= 1) {
		struct range_node *node = &c->nodes[*link];

		if (node->value == value) {
			found = *link;
			place->count = node->count;
			node->count += STEP;
		} else if (node->value < value) {
			place->under += node->count;
		}
		if (!bit) /* the ninth: all its bits are the byte's */
			break;
		if (value & bit) {
			place->under += node->left_sum;
			link = &node->right;
		} else {
			if (!found)
				node->left_sum += STEP;
			link = &node->left;
		}
	}
	if (!found)
		*link = found = node_new(c, value, STEP);
	return found;
}

/* The byte at a sum of counts; false: the context's counts end before. */
static bool context_find(
	const struct range_coder *c, uint16_t context, uint32_t sum, uint8_t *value)
{
	uint16_t at = c->nodes[context].first, open[9];
	uint32_t n = 0;

	/* open: the nodes above that the bits so far do not rule out */
	for (uint32_t bit = 0x80; bit; bit >>= 1) {
		uint32_t low = 0, kept = 0;
		bool high;

		if (at) {
			open[n++] = at;
			low = c->nodes[at].left_sum;
		} else if (n <= 1) {
			break;
		}
		for (uint32_t i = 0; i < n; i++)
			low += c->nodes[open[i]].value & bit ? 0 : c->nodes[open[i]].count;
		high = sum >= low;
		if (high)
			sum -= low;
		for (uint32_t i = 0; i < n; i++) {
			if (((c->nodes[open[i]].value & bit) != 0) == high)
				open[kept++] = open[i];
		}
		n = kept;
		if (at)
			at = high ? c->nodes[at].right : c->nodes[at].left;
	}
	if (at)
		open[n++] = at;
	if (n == 0 || sum >= c->nodes[open[0]].count)
		return false;
	*value = c->nodes[open[0]].value;
	return true;
}

/* Halves the counts of a tree; returns their sum. At most nine deep. */
static uint32_t tree_halve(struct range_coder *c, uint16_t at)
{
	struct range_node *node = &c->nodes[at];

	if (!at)
		return 0;
	node->count -= node->count >> 1;
	node->left_sum = (uint16_t)tree_halve(c, node->left);
	return node->count + node->left_sum + tree_halve(c, node->right);
}

/* What else changes in a context when a byte has come that had count. */
static void context_settle(struct range_coder *c, uint16_t context, uint32_t count)
{
	struct range_node *node = &c->nodes[context];

	if (!count) {
		node->escapes += STEP_ESCAPE;
		node->total += STEP_ESCAPE;
	}
	node->total += STEP;
	if (count > COUNT_MAX || node->total > TOTAL_MAX) {
		node->escapes -= node->escapes >> 1;
		node->total = (uint16_t)(node->escapes + tree_halve(c, node->first));
	}
}

/* The same three for the context of no bytes. */
static uint16_t root_learn(struct range_coder *c, uint8_t value, struct place *place)
{
	uint32_t group = value / RANGE_GROUP;

	place->under = value;
	for (uint32_t i = 0; i < group; i++)
		place->under += c->group_sum[i];
	for (uint32_t i = group * RANGE_GROUP; i < value; i++)
		place->under += c->count[i];
	place->count = 1u + c->count[value];
	c->count[value] += STEP_ROOT;
	c->group_sum[group] += STEP_ROOT;
	if (!c->node[value])
		c->node[value] = node_new(c, value, 0);
	return c->node[value];
}

static bool root_find(const struct range_coder *c, uint32_t sum, uint8_t *value)
{
	uint32_t group = 0, at;

	while (sum >= RANGE_GROUP + c->group_sum[group]) {
		sum -= RANGE_GROUP + c->group_sum[group];
		if (++group == RANGE_VALUES / RANGE_GROUP)
			return false;
	}
	for (at = group * RANGE_GROUP; sum >= 1u + c->count[at]; at++)
		sum -= 1u + c->count[at];
	*value = (uint8_t)at;
	return true;
}

static void root_settle(struct range_coder *c, uint32_t count)
{
	c->total += STEP_ROOT;
	if (count - 1 <= ROOT_MAX && c->total <= TOTAL_MAX)
		return;
	c->escapes -= c->escapes >> 1;
	c->total = (uint16_t)(c->escapes + RANGE_VALUES);
	memset(c->group_sum, 0, sizeof c->group_sum);
	for (uint32_t i = 0; i < RANGE_VALUES; i++) {
		c->count[i] -= c->count[i] >> 1;
		c->group_sum[i / RANGE_GROUP] += c->count[i];
		c->total += c->count[i];
	}
}

/* A byte is through: the next one's context, and a new start when the next might not find nodes. */
static void model_advance(struct range_coder *c)
{
	if (c->order == ORDER_MAX)
		c->context = c->nodes[c->context].lower;
	else
		c->order++;
	if (c->next >= RANGE_NODES - ORDER_MAX)
		model_reset(c);
}

/* Whether leaving a context has to be said; else it has no bytes yet, and there is no choice. */
static bool escape_coded(const struct range_node *context)
{
	return context->escapes > 0 && context->escapes < context->total;
}

struct encoder {
	uint32_t low, range;
	uint8_t *out, *end;
};

static bool put(struct encoder *e, uint32_t under, uint32_t count, uint32_t total)
{
	e->range /= total;
	e->low += under * e->range;
	e->range *= count;
	for (;;) {
		if ((e->low ^ (e->low + e->range)) >= TOP) {
			if (e->range >= BOTTOM)
				return true;
			/* the next byte is not settled, and may never be: cut the range there */
			e->range = (0u - e->low) & (BOTTOM - 1);
		}
		if (e->out == e->end)
			return false;
		*e->out++ = (uint8_t)(e->low >> 24);
		e->low <<= 8;
		e->range <<= 8;
	}
}

static bool put_byte(struct range_coder *c, struct encoder *e, uint8_t value)
{
	uint16_t *link = &c->context, context = c->context;
	uint32_t escapes, total;
	struct place place;

	while (context) {
		const struct range_node *node = &c->nodes[context];
		bool coded = escape_coded(node);

		escapes = node->escapes;
		total = node->total;
		*link = context_learn(c, context, value, &place);
		link = &c->nodes[*link].lower;
		context_settle(c, context, place.count);
		if (place.count)
			return put(e, escapes + place.under, place.count, total);
		if (coded && !put(e, 0, escapes, total))
			return false;
		context = node->lower;
	}
	escapes = c->escapes;
	total = c->total;
	*link = root_learn(c, value, &place);
	root_settle(c, place.count);
	return put(e, escapes + place.under, place.count, total);
}

uint32_t range_compress(struct range_coder *c, const uint8_t *in, uint32_t in_bytes, uint8_t *out,
	uint32_t out_bytes)
{
	struct encoder e = {.range = UINT32_MAX, .out = out, .end = out + out_bytes};

	model_reset(c);
	for (uint32_t i = 0; i < in_bytes; i++) {
		if (!put_byte(c, &e, in[i]))
			return 0;
		model_advance(c);
	}
	/* a decoder reads zeros after the end: those that the low end has anyway need not be
	 * written, and it is the low end that all the escapes of the end are at */
	for (; e.low; e.low <<= 8) {
		if (e.out == e.end)
			return 0;
		*e.out++ = (uint8_t)(e.low >> 24);
	}
	return (uint32_t)(e.out - out);
}

struct decoder {
	uint32_t low, range, code;
	const uint8_t *in, *end;
};

static uint32_t next_byte(struct decoder *d)
{
	return d->in < d->end ? *d->in++ : 0;
}

static uint32_t sum_at(struct decoder *d, uint32_t total)
{
	d->range /= total;
	return (d->code - d->low) / d->range;
}

/* After sum_at: what it says has been understood. */
static void take(struct decoder *d, uint32_t under, uint32_t count)
{
	d->low += under * d->range;
	d->range *= count;
	for (;;) {
		if ((d->low ^ (d->low + d->range)) >= TOP) {
			if (d->range >= BOTTOM)
				return;
			d->range = (0u - d->low) & (BOTTOM - 1);
		}
		d->code = d->code << 8 | next_byte(d);
		d->low <<= 8;
		d->range <<= 8;
	}
}

enum got { GOT_BYTE, GOT_END, GOT_NONSENSE };

static enum got get_byte(struct range_coder *c, struct decoder *d, uint8_t *value)
{
	uint16_t *link = &c->context, found = c->context;
	uint32_t sum;
	struct place place;

	/* first which byte, and in which context; then each context above learns it */
	for (; found; found = c->nodes[found].lower) {
		const struct range_node *node = &c->nodes[found];

		if (!escape_coded(node))
			continue;
		sum = sum_at(d, node->total);
		if (sum < node->escapes) {
			take(d, 0, node->escapes);
			continue;
		}
		if (!context_find(c, found, sum - node->escapes, value))
			return GOT_NONSENSE;
		break;
	}
	if (!found) {
		sum = sum_at(d, c->total);
		if (sum < c->escapes)
			return GOT_END;
		if (!root_find(c, sum - c->escapes, value))
			return GOT_NONSENSE;
	}
	for (uint16_t context = c->context; context; context = c->nodes[context].lower) {
		uint32_t escapes = c->nodes[context].escapes;

		*link = context_learn(c, context, *value, &place);
		link = &c->nodes[*link].lower;
		if (context == found)
			take(d, escapes + place.under, place.count);
		context_settle(c, context, place.count);
		if (context == found)
			return GOT_BYTE;
	}
	*link = root_learn(c, *value, &place);
	take(d, c->escapes + place.under, place.count);
	root_settle(c, place.count);
	return GOT_BYTE;
}

uint32_t range_decompress(struct range_coder *c, const uint8_t *in, uint32_t in_bytes, uint8_t *out,
	uint32_t out_bytes)
{
	struct decoder d = {.range = UINT32_MAX, .in = in, .end = in + in_bytes};
	uint32_t n = 0;

	if (in_bytes == 0)
		return 0;
	model_reset(c);
	for (int i = 0; i < 4; i++)
		d.code = d.code << 8 | next_byte(&d);
	for (;;) {
		uint8_t value;
		enum got got = get_byte(c, &d, &value);

		if (got == GOT_END)
			return n;
		if (got == GOT_NONSENSE || n == out_bytes)
			return 0;
		out[n++] = value;
		model_advance(c);
	}
}
