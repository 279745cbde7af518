#include "client/prediction.h"

#include <stddef.h>

#define SLOT(sequence) ((sequence) % SWC_PREDICTION_INPUTS)

void swc_prediction_join(struct swc_prediction *prediction, const struct sw_move_map *map,
	uint32_t speed_mm_per_s, const struct sw_move_state *at)
{
	prediction->map = *map;
	prediction->speed_mm_per_s = speed_mm_per_s;
	prediction->now = *at;
	prediction->applied_x_mm = at->x_mm;
	prediction->applied_y_mm = at->y_mm;
	prediction->applied = prediction->newest;
	prediction->kept = 0;
}

static void step(struct swc_prediction *prediction, struct swc_input *input)
{
	sw_move_apply(&prediction->map, prediction->speed_mm_per_s, input->dx, input->dy,
		&prediction->now);
	input->x_mm = prediction->now.x_mm;
	input->y_mm = prediction->now.y_mm;
}

uint32_t swc_prediction_input(struct swc_prediction *prediction, int8_t dx, int8_t dy)
{
	struct swc_input *input = &prediction->inputs[SLOT(++prediction->newest)];

	if (prediction->kept < SWC_PREDICTION_INPUTS)
		prediction->kept++;
	if (prediction->newest - prediction->applied > SWC_PREDICTION_INPUTS)
		prediction->forgotten++;
	input->dx = dx;
	input->dy = dy;
	step(prediction, input);
	return prediction->newest;
}

const struct swc_input *swc_prediction_kept(
	const struct swc_prediction *prediction, uint32_t sequence)
{
	if (prediction->newest - sequence >= prediction->kept)
		return NULL;
	return &prediction->inputs[SLOT(sequence)];
}

bool swc_prediction_reconcile(struct swc_prediction *prediction, uint32_t sequence, int32_t x_mm,
	int32_t y_mm, uint16_t heading)
{
	const struct swc_input *input = swc_prediction_kept(prediction, sequence);
	bool same;

	if ((int32_t)(sequence - prediction->applied) < 0 ||
		(int32_t)(prediction->newest - sequence) < 0)
		return false;
	if (sequence == prediction->applied)
		same = x_mm == prediction->applied_x_mm && y_mm == prediction->applied_y_mm;
	else
		same = input && x_mm == input->x_mm && y_mm == input->y_mm;

	prediction->applied = sequence;
	prediction->applied_x_mm = x_mm;
	prediction->applied_y_mm = y_mm;
	if (same)
		return false;

	prediction->now.x_mm = x_mm;
	prediction->now.y_mm = y_mm;
	prediction->now.heading = heading;
	for (uint32_t next = sequence + 1; (int32_t)(prediction->newest - next) >= 0; next++) {
		if (swc_prediction_kept(prediction, next))
			step(prediction, &prediction->inputs[SLOT(next)]);
	}
	return true;
}
