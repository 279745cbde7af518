#include "simulation/client_message.h"

#include <stddef.h>
#include <string.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

/* A bump arena behind protobuf-c's allocator: what is given out is taken back as a whole. */
struct arena {
	uint8_t *memory;
	uint32_t used;
};

static void *arena_alloc(void *data, size_t bytes)
{
	struct arena *arena = data;
	uint8_t *at = arena->memory + arena->used;

	if (bytes > SIM_PARSE_MEMORY)
		return NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > SIM_PARSE_MEMORY - arena->used)
		return NULL;
	arena->used += (uint32_t)bytes;
	return at;
}

static void arena_free(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

static enum sim_parse parse_input(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__InputBatch *batch;

	if (count > SIM_INPUT_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	batch = sw__input_batch__unpack(allocator, count, bytes);
	if (!batch)
		return SIM_PARSE_UNDECODABLE;
	if (!batch->n_inputs)
		return SIM_PARSE_NO_INPUTS;
	if (batch->n_inputs > SIM_INPUTS_MAX)
		return SIM_PARSE_MANY_INPUTS;
	out->first_sequence = batch->first_sequence;
	out->count = (uint32_t)batch->n_inputs;
	for (uint32_t i = 0; i < out->count; i++) {
		const Sw__Input *input = batch->inputs[i];

		if (input->dx < -127 || input->dx > 127 || input->dy < -127 || input->dy > 127)
			return SIM_PARSE_INPUT_RANGE;
		out->dx[i] = (int8_t)input->dx;
		out->dy[i] = (int8_t)input->dy;
	}
	return SIM_PARSE_OK;
}

static enum sim_parse parse_click(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__Click *click;

	if (count > SIM_CLICK_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	click = sw__click__unpack(allocator, count, bytes);
	if (!click)
		return SIM_PARSE_UNDECODABLE;
	out->actor_id = click->actor_id;
	return SIM_PARSE_OK;
}

enum sim_parse sim_client_message_parse(uint8_t *memory, uint8_t channel, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	struct arena arena = {.memory = memory};
	ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};

	if (!count)
		return SIM_PARSE_EMPTY;
	memset(out, 0, sizeof(*out));
	out->type = bytes[0];
	switch (bytes[0]) {
	case SW_MSG_INPUT:
		if (channel != SW_CHANNEL_WORLD)
			return SIM_PARSE_WRONG_CHANNEL;
		return parse_input(&allocator, bytes + 1, count - 1, out);
	case SW_MSG_CLICK:
		if (channel != SW_CHANNEL_SESSION)
			return SIM_PARSE_WRONG_CHANNEL;
		return parse_click(&allocator, bytes + 1, count - 1, out);
	default:
		return SIM_PARSE_UNKNOWN_TYPE;
	}
}
