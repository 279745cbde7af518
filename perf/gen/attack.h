/* attack.h: datagrams that attack an ENet server, of every kind at once, for a flood beside
 * players. One attacker has a peer: the source 0, which connects like a client (attack_read) and
 * then sends as fast as it may; the others are strangers. Pure, one thread. */
#ifndef SW_PERF_GEN_ATTACK_H
#define SW_PERF_GEN_ATTACK_H

#include "dataplane/lean_client.h"

#define ATTACK_ROGUE 0u /* source number */
#define ATTACK_BYTES 128u

struct attack {
	struct lean_client rogue;
	uint32_t asked; /* CONNECTs of the rogue that stand for nothing */
};

/* Writes one; *source, a random number below sources, becomes its source. Returns its bytes. */
static inline uint32_t attack_write(
	struct attack *attack, uint32_t random, uint32_t *source, uint8_t out[ATTACK_BYTES])
{
	struct lean_client one, *rogue = &attack->rogue;
	uint32_t kind = (random >> 21) % 8, bytes;
	uint8_t *p;

	if (kind >= 4) {
		*source = ATTACK_ROGUE;
		if (rogue->state != LEAN_CONNECTED)
			return lean_connect(
				rogue, 0x0badc0de + attack->asked++ / 4096, 1, 0, 1, out);
	}
	switch (kind) {
	case 0: /* from an invented source */
		return lean_connect(&one, random, (uint16_t)(random % 4095), 0, 1, out);
	case 1: /* thousands of one source */
		*source = 1;
		return lean_connect(&one, random, (uint16_t)(random % 4095), 0, 1, out);
	case 2: /* the same again and again */
		*source = 2;
		return lean_connect(&one, 7, 7, 0, 1, out);
	case 3: /* random bytes */
		bytes = random >> 8 & 63;
		for (uint32_t i = 0; i < bytes; i++)
			out[i] = (uint8_t)((random = random * 1664525u + 1013904223u) >> 24);
		return bytes;
	case 4: /* a fragment cut off */
		p = lean_command(lean_head(rogue, out, 1), 0x88, 0, random & 0xffff);
		memset(p, 0, 60);
		lean_put16(p, random >> 8 & 0xffff);
		lean_put32(p + 4, 1 + (random >> 8 & 63));
		lean_put32(p + 12, 4000);
		return 6 + (random >> 4) % 50;
	case 5: /* the acknowledgement of nothing */
		p = lean_command(lean_head(rogue, out, 1), 1, 0, random & 0xffff);
		lean_put32(p, random);
		return 12;
	case 6: /* a ping */
		p = lean_command(lean_head(rogue, out, 1), 0x85, 0xff, random & 0xffff);
		return (uint32_t)(p - out);
	default: /* a message, which is echoed */
		return lean_send_unreliable(rogue, 0, "attack!", 8, out);
	}
}

/* What the server says to source 0. Returns the bytes of what it answers in out, 0 for nothing. */
static inline uint32_t attack_read(
	struct attack *attack, const uint8_t *in, uint32_t bytes, uint8_t *out)
{
	return lean_read(&attack->rogue, in, bytes, NULL, 1, out);
}

#endif
