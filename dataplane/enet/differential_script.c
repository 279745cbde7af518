/* differential_script.c: see differential.h. */
#include <enet/enet.h>
#include <string.h>

#include "dataplane/enet/differential.h"

#define END_QUIET(name, quiet) [END_##name] = (quiet),
const bool script_end_quiet[SCRIPT_END_COUNT] = {SCRIPT_ENDS(END_QUIET)};
#define END_NAME(name, quiet) [END_##name] = #name,
const char *const script_end_name[SCRIPT_END_COUNT] = {SCRIPT_ENDS(END_NAME)};

static uint32_t draw(uint64_t *random, uint32_t below)
{
	uint64_t z = *random += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(((z ^ z >> 31) >> 32) * below >> 32);
}

static bool one_in(uint64_t *random, uint32_t n)
{
	return draw(random, n) == 0;
}

static void draw_net(const struct script *script, struct netsim_config *net, uint64_t *r)
{
	uint32_t most = one_in(r, 4) ? 120 : 30;

	net->delay_min_ms = draw(r, most);
	net->delay_max_ms = net->delay_min_ms;
	if (script->clean)
		return;
	if (one_in(r, 2))
		net->delay_max_ms += draw(r, most);
	if (script->lossy) {
		net->loss = draw(r, 120) * 0.001;
		if (script->checksum && one_in(r, 2))
			net->corrupt = draw(r, 30) * 0.001;
		if ((script->checksum || !script->compression) && one_in(r, 2))
			net->truncate = draw(r, 30) * 0.001;
	}
	if (one_in(r, 2))
		net->repeat = draw(r, 100) * 0.001;
}

/* Sizes that show how a message went: to 400 bytes it fits every MTU, from 4,100 it fits none. */
static uint32_t draw_bytes(uint64_t *r)
{
	switch (draw(r, 16)) {
	case 0:
		return 4100 + draw(r, 16000);
	case 1:
	case 2:
	case 3:
	case 4:
		return 400 + draw(r, 1500);
	case 5:
		return 12;
	default:
		return 12 + draw(r, 140);
	}
}

static void draw_step(
	const struct script *script, const struct life_script *life, struct step *step, uint64_t *r)
{
	static const uint32_t flags[] = {SW_ENET_RELIABLE, SW_ENET_RELIABLE, SW_ENET_RELIABLE, 0, 0,
		SW_ENET_UNSEQUENCED, SW_ENET_UNRELIABLE_FRAGMENT};
	static const enum step_kind kinds[] = {
		STEP_PAUSE, STEP_STALL, STEP_THROTTLE, STEP_BANDWIDTH, STEP_PING};

	step->after_ms = one_in(r, 16) ? draw(r, 900) : draw(r, 30);
	step->kind = one_in(r, 2) ? STEP_SEND : STEP_ASK;
	if (!script->clean && one_in(r, 8))
		step->kind = kinds[draw(r, sizeof kinds / sizeof *kinds)];
	step->channel = (uint8_t)draw(r, life->channels);
	if (one_in(r, 2))
		step->channel = 0;
	step->flags = flags[draw(r, sizeof flags / sizeof *flags)];
	step->bytes = draw_bytes(r);
	if (!(step->flags & SW_ENET_RELIABLE) && step->bytes > 400 && step->bytes < 4100)
		step->bytes = 12 + step->bytes % 380;
	/* libenet before 1.3.16 writes to memory that it has freed when their fragments come late
	 */
	if (ENET_VERSION < ENET_VERSION_CREATE(1, 3, 16) &&
		step->flags & SW_ENET_UNRELIABLE_FRAGMENT)
		step->flags = SW_ENET_RELIABLE;
	/* libenet's range coder reads a byte of an empty packet, from address 0 */
	if (!script->compression && step->kind == STEP_SEND && step->flags & SW_ENET_RELIABLE &&
		one_in(r, 12))
		step->bytes = 0;
	step->count = 1 + draw(r, one_in(r, 6) ? 300 : 30);
	if (step->bytes > 400)
		step->count = 1 + step->count % 20;
	switch (step->kind) {
	case STEP_PAUSE:
		step->value[0] = draw(r, 1500);
		break;
	case STEP_STALL:
		step->value[0] = draw(r, one_in(r, 4) ? 1500 : 300);
		break;
	case STEP_THROTTLE:
		step->value[0] = 500 + draw(r, 8000);
		step->value[1] = draw(r, 8);
		step->value[2] = draw(r, 8);
		break;
	case STEP_BANDWIDTH:
		step->value[0] = one_in(r, 3) ? 0 : 100000 + draw(r, 1000000);
		step->value[1] = one_in(r, 3) ? 0 : 100000 + draw(r, 1000000);
		break;
	default:
		break;
	}
}

static void draw_life(const struct script *script, struct life_script *life, uint64_t *r)
{
	life->after_ms = 2000 + draw(r, 2000); /* what was under way has arrived */
	life->channels = one_in(r, 3) ? 1 + draw(r, 255) : 1 + draw(r, 6);
	life->connect_data = draw(r, UINT32_MAX);
	life->end_data = 1 + draw(r, UINT32_MAX);
	life->step_count = draw(r, SCRIPT_STEPS);
	life->end = (enum script_end)draw(r, SCRIPT_END_COUNT);
	/* and before 1.3.14 sends from there when "later" finds unreliable packets */
	if (ENET_VERSION < ENET_VERSION_CREATE(1, 3, 14) && life->end == END_CLIENT_LATER)
		life->end = END_CLIENT_LATER_QUIET;
	if (ENET_VERSION < ENET_VERSION_CREATE(1, 3, 14) && life->end == END_SERVER_LATER)
		life->end = END_SERVER_QUIET;
	for (uint32_t i = 0; i < life->step_count; i++)
		draw_step(script, life, &life->steps[i], r);
}

void script_draw(struct script *s, uint64_t seed)
{
	uint64_t state = seed, *r = &state;

	memset(s, 0, sizeof *s);
	s->seed = seed;
	s->mtu = one_in(r, 2) ? 1400 : 576 + draw(r, 4096 - 576 + 1);
	s->channels_max = one_in(r, 4) ? 1 + draw(r, 255) : 255;
	s->checksum = one_in(r, 2);
	s->compression = one_in(r, 3);
	s->any = one_in(r, 2);
	s->clean = one_in(r, 4);
	s->lossy = !s->clean && !one_in(r, 4);
	if (!s->clean && one_in(r, 4)) {
		s->incoming_bandwidth = one_in(r, 2) ? 0 : 200000 + draw(r, 2000000);
		s->outgoing_bandwidth = one_in(r, 2) ? 0 : 200000 + draw(r, 2000000);
	}
	s->refuse_per_mille = s->clean || one_in(r, 2) ? 0 : draw(r, 100);
	for (uint32_t i = 0; i < SCRIPT_NETS; i++)
		draw_net(s, &s->net[i], r);
	s->net_ms = 500 + draw(r, 5000);
	s->client_count = 1 + draw(r, SCRIPT_CLIENTS);
	for (uint32_t i = 0; i < s->client_count; i++) {
		struct client_script *client = &s->client[i];

		client->shares = i > 0 && one_in(r, 4);
		client->mtu = one_in(r, 2) ? 1400 : 576 + draw(r, 4096 - 576 + 1);
		if (!s->clean && one_in(r, 4)) {
			client->incoming_bandwidth = one_in(r, 2) ? 0 : 100000 + draw(r, 1000000);
			client->outgoing_bandwidth = one_in(r, 2) ? 0 : 100000 + draw(r, 1000000);
		}
		client->lives = 1 + draw(r, SCRIPT_LIVES);
		for (uint32_t k = 0; k < client->lives; k++)
			draw_life(s, &client->life[k], r);
	}
	/* the answer to who has left would meet the next one on the same host, who then leaves too
	 */
	for (uint32_t i = 0; i < s->client_count; i++) {
		bool shared =
			s->client[i].shares || (i + 1 < s->client_count && s->client[i + 1].shares);

		for (uint32_t k = 0; k < s->client[i].lives; k++) {
			if (shared && s->client[i].life[k].end == END_CLIENT_UNCONNECTED)
				s->client[i].life[k].end = END_CLIENT_QUIET;
		}
	}
}
