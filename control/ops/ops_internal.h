/* ops_internal: the registry, shared by ops.c (HTTP), metrics.c and status.c. */
#ifndef SW_CONTROL_OPS_OPS_INTERNAL_H
#define SW_CONTROL_OPS_OPS_INTERNAL_H

#include "control/ops/ops.h"
#include "control/ops/orders.h"

#define OPS_SENTENCE_BYTES 256u

struct ops_component {
	const char *name;
	ops_health_fn *fn;
	void *ctx;
};

struct MHD_Daemon;

struct ops {
	const struct sw_config *config;
	const struct counter_set **sets; /* [set_count] */
	struct histogram_ref *histograms;
	struct ops_component *components;
	uint32_t set_count, histogram_count, component_count;
	ops_instance_fn *instances; /* NULL: not registered */
	void *instances_ctx;
	struct ops_component ready; /* fn NULL: not registered */
	struct orders orders;
	uint64_t started_ns;
	struct MHD_Daemon *daemon;
	uint16_t port;
};

/* The page of "/", made from page.html. */
extern const char ops_page[];

const char *ops_level_name(enum ops_level level);
/* Asks every component; calls each(ctx, ...) for it if not NULL. Returns the worst. */
enum ops_level ops_ask(const struct ops *ops,
	void (*each)(void *ctx, const char *name, enum ops_level level, const char *sentence),
	void *ctx);

/* Each writes the whole body. now_ns: mono_ns. */
void ops_metrics(const struct ops *ops, uint64_t now_ns, FILE *out);
enum ops_level ops_health_json(const struct ops *ops, FILE *out);
void ops_status_json(const struct ops *ops, uint64_t now_ns, FILE *out);

/* The smallest bound, in ns, that at least share (0..1) of the values are below; 0 when there are
 * none. */
uint64_t ops_quantile_ns(
	const struct histogram *h, const uint64_t bucket[HISTOGRAM_QUARTERS], double share);

#endif
