/* differential_stream.c: what one side sends to the other, and what must hold of what arrives. */
#include "dataplane/enet/differential_internal.h"
#include "dataplane/enet/wire.h"

static uint8_t filler(uint32_t number, uint32_t at)
{
	return (uint8_t)((number * 2654435761u ^ at / 3 * 40503u) >> 13);
}

static uint16_t tag(const struct life *life)
{
	return (uint16_t)(life->client * SCRIPT_LIVES + life->number);
}

bool stream_put(struct run *run, const struct life *life, struct stream *s, uint8_t channel,
	uint32_t flags, uint32_t bytes)
{
	uint32_t kind = flags & SW_ENET_RELIABLE      ? RELIABLE
			: flags & SW_ENET_UNSEQUENCED ? UNSEQUENCED
						      : UNRELIABLE;
	bool big = bytes >= WIRE_MTU_MAX && !(flags & SW_ENET_UNRELIABLE_FRAGMENT);
	uint32_t number = s->sent[kind][channel];
	uint8_t *p = run->buffer;

	if (bytes >= HEAD_BYTES) {
		p[0] = (uint8_t)(kind | (big ? MESSAGE_BIG : 0));
		p[1] = channel;
		wire_put16(p + 2, tag(life));
		wire_put32(p + 4, number);
		wire_put32(p + 8, bytes);
		for (uint32_t i = HEAD_BYTES; i < bytes; i++)
			p[i] = filler(number, i);
	}
	return kind == RELIABLE || big;
}

void stream_sent(struct run *run, struct stream *s, uint8_t channel, uint32_t flags, bool must)
{
	uint32_t kind = flags & SW_ENET_RELIABLE      ? RELIABLE
			: flags & SW_ENET_UNSEQUENCED ? UNSEQUENCED
						      : UNRELIABLE;

	s->sent[kind][channel]++;
	s->must_sent += must;
	s->loose_sent += !must;
	run->result->messages++;
}

void stream_got(struct run *run, struct life *life, struct stream *s, uint8_t channel,
	const uint8_t *p, uint32_t bytes)
{
	uint32_t kind = bytes ? p[0] & MESSAGE_KIND : RELIABLE, number;
	bool must;

	if (bytes && (bytes < HEAD_BYTES || kind >= KINDS || p[1] != channel ||
			     wire_get16(p + 2) != tag(life) || wire_get32(p + 8) != bytes)) {
		run_violation(run, life, "a message that nobody sent so");
		return;
	}
	number = bytes ? wire_get32(p + 4) : s->next[RELIABLE][channel];
	if (number >= s->sent[kind][channel])
		run_violation(run, life, "a message that was not sent yet");
	for (uint32_t i = p && p[0] & MESSAGE_ASK ? ASK_BYTES : HEAD_BYTES; i < bytes; i++) {
		if (p[i] != filler(number, i)) {
			run_violation(run, life, "a message with other bytes");
			break;
		}
	}
	must = kind == RELIABLE || (p[0] & MESSAGE_BIG);
	s->must_got += must;
	s->loose_got += !must;
	if (kind == RELIABLE && number != s->next[kind][channel])
		run_violation(run, life, "a reliable message out of order, or twice");
	if (kind == UNRELIABLE && number < s->next[kind][channel])
		run_violation(run, life, "an unreliable message that went back, or came twice");
	if (kind == UNSEQUENCED && number < SEEN_MAX) {
		uint8_t *byte = &s->seen[channel][number / 8], bit = (uint8_t)(1u << number % 8);

		if (*byte & bit)
			run_violation(run, life, "an unsequenced message twice");
		*byte |= bit;
	}
	s->next[kind][channel] = number + 1;
	if (kind == RELIABLE)
		s->hash[channel] =
			(s->hash[channel] ^ number ^ (uint64_t)bytes << 32) * 0x9e3779b97f4a7c15ull;
}

bool stream_complete(const struct stream *s)
{
	return s->must_got == s->must_sent;
}

uint64_t stream_hash(const struct stream *s)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < SCRIPT_CHANNELS; i++)
		hash = (hash ^ s->hash[i]) * 0xbf58476d1ce4e5b9ull + i;
	return hash;
}
