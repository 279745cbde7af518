/* differential.c: compares what became of a script on both servers; see differential.h. */
#include <enet/enet.h>
#include <stdio.h>

#include "dataplane/enet/differential.h"

/* Who connects and leaves at once may have left before the server knew: which datagram comes first
 * decides. */
#define REACHED (script->clean || (end != END_CLIENT && end != END_CLIENT_AT_ONCE))

/* The fields that must be the same, and when. X(field, condition) */
#define COMPARED(X)                                                                                \
	X(connected, true)                                                                         \
	X(channels, true)                                                                          \
	X(mtu, its->mtu <= script->mtu) /* stock has no say in it */                               \
	X(window_bytes, true)                                                                      \
	X(server_connected, REACHED)                                                               \
	X(server_connect_data, REACHED)                                                            \
	X(client_told, true)                                                                       \
	X(server_told, REACHED)                                                                    \
	X(client_data, true)                                                                       \
	X(server_data, REACHED)                                                                    \
	X(up_hash, script_end_quiet[end] || end == END_CLIENT_LATER)                               \
	X(down_hash, script_end_quiet[end])

struct field {
	const char *name;
	uint64_t ours, stock;
	bool compared;
};

static uint32_t compare(const struct script *script, uint32_t client, uint32_t life,
	const struct outcome *ours, const struct outcome *stock)
{
	const struct client_script *its = &script->client[client];
	enum script_end end = its->life[life].end;
#define FIELD(name, condition) {#name, ours->name, stock->name, (condition)},
	const struct field fields[] = {COMPARED(FIELD)};
	uint32_t found = 0;

	for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (!fields[i].compared || fields[i].ours == fields[i].stock)
			continue;
		found++;
		fprintf(stderr, "seed %llu: client %u, life %u (%s): %s is %llu, stock %llu\n",
			(unsigned long long)script->seed, client, life, script_end_name[end],
			fields[i].name, (unsigned long long)fields[i].ours,
			(unsigned long long)fields[i].stock);
	}
	/* nothing gets lost on the way: what a stock client drops it drops of both, where both send
	 * in the order in which they were asked to (libenet before 1.3.16: what is reliable first)
	 */
	if (script->clean && ENET_VERSION >= ENET_VERSION_CREATE(1, 3, 16) &&
		script_end_quiet[end] && ours->down_loose < stock->down_loose) {
		found++;
		fprintf(stderr,
			"seed %llu: client %u, life %u (%s): %llu unreliable messages came, "
			"stock %llu\n",
			(unsigned long long)script->seed, client, life, script_end_name[end],
			(unsigned long long)ours->down_loose,
			(unsigned long long)stock->down_loose);
	}
	return found;
}

void differential_round(uint64_t seed, struct differential_total *total)
{
	static struct script script;
	static struct run_result ours, stock;

	script_draw(&script, seed);
	differential_run(&script, true, &ours);
	differential_run(&script, false, &stock);
	for (uint32_t i = 0; i < script.client_count; i++) {
		for (uint32_t k = 0; k < script.client[i].lives; k++) {
			const struct outcome *a = &ours.outcome[i][k], *b = &stock.outcome[i][k];

			total->lives++;
			if (a->broken || b->broken)
				total->broken++;
			else
				total->disagreements += compare(&script, i, k, a, b);
		}
	}
	total->rounds++;
	total->disagreements += ours.violations;
	total->stock_violations += stock.violations;
	total->datagrams += ours.datagrams + stock.datagrams;
	total->messages += ours.messages + stock.messages;
	total->virtual_ms += ours.virtual_ms + stock.virtual_ms;
}
