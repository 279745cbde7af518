/* crc32.c: ENet's datagram checksum: CRC-32 (IEEE 802.3, reflected) over the whole datagram, with
 * the connect id standing in the checksum's place while it is computed. Slicing by four. */
#include "dataplane/enet/engine.h"

void crc_init(uint32_t (*table)[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++) {
		for (int slice = 1; slice < 4; slice++)
			table[slice][i] =
				table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 0xff];
	}
}

static uint32_t crc_add(uint32_t (*table)[256], uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	for (; bytes >= 4; bytes -= 4, data += 4) {
		crc ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
		       (uint32_t)data[3] << 24;
		crc = table[3][crc & 0xff] ^ table[2][crc >> 8 & 0xff] ^
		      table[1][crc >> 16 & 0xff] ^ table[0][crc >> 24];
	}
	for (; bytes; bytes--, data++)
		crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
	return crc;
}

static uint32_t crc_of(
	struct sw_enet *e, const uint8_t *data, uint32_t bytes, uint32_t at, uint32_t connect_id)
{
	uint32_t crc = crc_add(e->crc, UINT32_MAX, data, at);
	uint8_t id[WIRE_CHECKSUM_BYTES];

	memcpy(id, &connect_id, sizeof id); /* opaque: the bytes as they came */
	crc = crc_add(e->crc, crc, id, sizeof id);
	return ~crc_add(e->crc, crc, data + at + sizeof id, bytes - at - (uint32_t)sizeof id);
}

/* The checksum stands at data[at..at+3]; bytes is at least at + 4. Reads only. */
bool crc_matches(
	struct sw_enet *e, const uint8_t *data, uint32_t bytes, uint32_t at, uint32_t connect_id)
{
	return wire_get32(data + at) == crc_of(e, data, bytes, at, connect_id);
}

void crc_put(struct sw_enet *e, uint8_t *data, uint32_t bytes, uint32_t at, uint32_t connect_id)
{
	wire_put32(data + at, crc_of(e, data, bytes, at, connect_id));
}
