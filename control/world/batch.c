#include "control/world/batch.h"

#include "common/log.h"
#include "common/mono.h"

#define RETRY_NS     (100 * NS_PER_MS)
#define LOG_PAUSE_NS (10 * NS_PER_S)

void batch_sent(struct batch *batch, uint32_t rows, uint64_t now_ns)
{
	batch->rows = rows;
	batch->sent_ns = now_ns;
}

void batch_done(struct batch *batch, uint32_t limit_max)
{
	uint32_t limit = batch->limit * 2;

	batch->limit = limit < limit_max ? limit : limit_max;
}

void batch_failed(struct batch *batch, bool data, uint64_t now_ns)
{
	batch->limit = batch->rows > 1 ? batch->rows / 2 : 1;
	batch->retry_ns = data && batch->rows > 1 ? now_ns : now_ns + RETRY_NS;
}

void batch_say(struct batch *batch, const char *what, const char *why, const char *sqlstate,
	uint64_t now_ns)
{
	if (now_ns < batch->log_ns)
		return;
	batch->log_ns = now_ns + LOG_PAUSE_NS;
	sw_log(SW_LOG_WARN, "world",
		"postgres: a batch of %u %s failed and is tried again: %s (SQLSTATE %s)",
		batch->rows, what, why ? why : "", sqlstate);
}
