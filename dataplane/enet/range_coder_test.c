/* Proves that the range coder is libenet's: what one compresses the other reads, byte for byte the
 * same, for every kind of data; and that it is closed to what no encoder writes: nothing is read or
 * written out of bounds, and what both accept is the same. SW_SEED sets the seed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include <enet/enet.h>

#include "dataplane/enet/range_coder.h"

#define BYTES_MAX 4096u
#define ROUNDS    3000u

static struct range_coder coder;
static void *stock;
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * below >> 32);
}

enum shape { ZEROS, NOISE, FEW, TEXT, COUNTING, SORTED, RUNS, SPARSE, PERIODIC, SHAPES };

static uint8_t shape_byte(enum shape shape, uint32_t at, uint32_t parameter, const uint8_t *before)
{
	static const char words[] = "the quick brown fox jumps over the lazy dog 0123456789 ";

	switch (shape) {
	case ZEROS:
		return 0;
	case NOISE:
		return (uint8_t)draw(256);
	case FEW:
		return (uint8_t)(draw(1 + parameter % 7) * 37);
	case TEXT:
		return (uint8_t)words[(at + draw(8) / 7) % (sizeof words - 1)];
	case COUNTING:
		return (uint8_t)(at * (1 + parameter % 5));
	case SORTED: /* each context sees the bytes in rising order */
		return at % 2 ? (uint8_t)(at / 2) : (uint8_t)parameter;
	case RUNS:
		return at && draw(16) ? before[-1] : (uint8_t)draw(256);
	case SPARSE:
		return draw(8) ? 0 : (uint8_t)draw(256);
	default:
		return (uint8_t)((at % (2 + parameter % 300)) * 11 >> (parameter & 3));
	}
}

static uint32_t fill(uint8_t *data, uint32_t bytes_max)
{
	enum shape shape = (enum shape)draw(SHAPES);
	uint32_t parameter = draw(1u << 16), bytes = 1 + draw(draw(4) ? 200 : bytes_max);

	for (uint32_t i = 0; i < bytes; i++)
		data[i] = shape_byte(shape, i, parameter, data + i);
	return bytes;
}

static uint32_t stock_compress(const uint8_t *in, uint32_t bytes, uint8_t *out, uint32_t room)
{
	ENetBuffer buffer = {.data = (void *)(uintptr_t)in, .dataLength = bytes};

	return (uint32_t)enet_range_coder_compress(stock, &buffer, 1, bytes, out, room);
}

/* In memory that ends where it ends, so that the address sanitizer sees a byte too many. */
static uint8_t *exact(const uint8_t *data, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	if (data)
		memcpy(copy, data, bytes);
	return copy;
}

static void round_trip(const uint8_t *data, uint32_t bytes)
{
	uint32_t room = bytes + bytes / 8 + 64, n;
	uint8_t *in = exact(data, bytes), *ours = exact(NULL, room), *theirs = exact(NULL, room);
	uint8_t *packed, *out = exact(NULL, bytes);

	n = range_compress(&coder, in, bytes, ours, room);
	assert_int_equal(n, stock_compress(in, bytes, theirs, room));
	assert_true(n > 0 || (bytes == 0));
	assert_memory_equal(ours, theirs, n);
	packed = exact(ours, n);
	assert_int_equal(range_decompress(&coder, packed, n, out, bytes), bytes);
	assert_memory_equal(out, in, bytes);
	memset(out, 0, bytes);
	assert_int_equal(enet_range_coder_decompress(stock, packed, n, out, bytes), bytes);
	assert_memory_equal(out, in, bytes);
	/* one byte less of room, on either side */
	assert_int_equal(range_compress(&coder, in, bytes, ours, n - 1), 0);
	assert_int_equal(range_compress(&coder, in, bytes, ours, n), n);
	assert_int_equal(range_decompress(&coder, packed, n, out, bytes - 1), 0);
	free(in);
	free(ours);
	free(theirs);
	free(packed);
	free(out);
}

static void both_ways(void **state)
{
	static uint8_t data[BYTES_MAX];

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++)
		round_trip(data, fill(data, BYTES_MAX));
}

/* Longer than any datagram: so that counts are halved, and the model starts anew, many times. */
static void long_streams(void **state)
{
	static uint8_t data[1u << 18];

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		enum shape shape = (enum shape)(i % SHAPES);

		for (uint32_t at = 0; at < sizeof data; at++)
			data[at] = shape_byte(shape, at, i * 7919, data + at);
		round_trip(data, sizeof data);
	}
}

static void refuses(void **state)
{
	uint8_t in[4] = {1, 2, 3, 4}, out[16];

	(void)state;
	assert_int_equal(range_compress(&coder, in, 0, out, sizeof out), 0);
	assert_int_equal(range_decompress(&coder, in, 0, out, sizeof out), 0);
	assert_int_equal(range_decompress(&coder, in, 4, out, 0), 0);
	assert_int_equal(range_compress(&coder, in, 4, out, 0), 0);
	/* the greatest code there is lies beyond all counts */
	memset(in, 0xff, sizeof in);
	assert_int_equal(range_decompress(&coder, in, 4, out, sizeof out), 0);
}

/* Noise and damaged streams: what ours accepts, stock reads as the same. */
static void damaged(void **state)
{
	static uint8_t data[BYTES_MAX], packed[2 * BYTES_MAX], ours[BYTES_MAX], theirs[BYTES_MAX];
	uint32_t accepted = 0;

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t bytes = fill(data, 1500), n, got, room = 1 + draw(BYTES_MAX);
		uint8_t *in;

		if (i % 3 == 0) {
			n = bytes;
			memcpy(packed, data, bytes);
		} else {
			n = range_compress(&coder, data, bytes, packed, sizeof packed);
			for (uint32_t k = draw(3); k < 3; k++)
				packed[draw(n)] ^= (uint8_t)(1u << draw(8));
			if (i % 3 == 1)
				n = 1 + draw(n);
		}
		in = exact(packed, n);
		got = range_decompress(&coder, in, n, ours, room);
		if (got) {
			accepted++;
			assert_int_equal(
				enet_range_coder_decompress(stock, in, n, theirs, room), got);
			assert_memory_equal(ours, theirs, got);
		}
		free(in);
	}
	print_message("%u of %u damaged streams could be read\n", accepted, ROUNDS);
	assert_true(accepted > ROUNDS / 20);
}

int main(void)
{
	const char *text = getenv("SW_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways),
		cmocka_unit_test(long_streams),
		cmocka_unit_test(refuses),
		cmocka_unit_test(damaged),
	};
	int failed;

	printf("SW_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	stock = enet_range_coder_create();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	enet_range_coder_destroy(stock);
	return failed;
}
