/* wire.h: protobuf written by hand, for what a shard sends many times a tick. Field numbers are
 * those of proto/client.proto; wire_test reads the results back with protobuf-c. Each writer
 * returns the end of what it wrote; the caller has made room. */
#ifndef SW_SIMULATION_WIRE_H
#define SW_SIMULATION_WIRE_H

#include <stdint.h>
#include <string.h>

#define WIRE_U32_MAX 5u /* bytes of a varint of 32 bits */

static inline uint8_t *wire_varint(uint8_t *at, uint32_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Field numbers below 16: the tag is one byte. proto3 leaves a zero out. */
static inline uint8_t *wire_u32(uint8_t *at, uint32_t field, uint32_t value)
{
	if (!value)
		return at;
	*at++ = (uint8_t)(field << 3);
	return wire_varint(at, value);
}

static inline uint8_t *wire_s32(uint8_t *at, uint32_t field, int32_t value)
{
	return wire_u32(at, field, (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0));
}

static inline uint8_t *wire_bytes(uint8_t *at, uint32_t field, const void *bytes, uint32_t count)
{
	*at++ = (uint8_t)(field << 3 | 2);
	at = wire_varint(at, count);
	memcpy(at, bytes, count);
	return at + count;
}

#endif
