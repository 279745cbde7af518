#include "control/builder.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"

/* Building takes milliseconds of touching memory and compiling; logins on the same core go first.
 */
#define BUILDER_NICE 10

static void prepare(uv_work_t *work)
{
	struct builder *builder = work->data;

	/* Linux has a priority per thread. Without it a build only competes harder. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), BUILDER_NICE);
	builder->error[0] = 0;
	builder->rc = builder->prepare(
		builder->prepare_ctx, builder->id, builder->error, sizeof(builder->error));
}

static void done(uv_work_t *work, int status)
{
	struct builder *builder = work->data;
	uint32_t id = builder->id;

	CHECK(!status); /* nobody cancels */
	if (builder->rc)
		sw_log(SW_LOG_ERROR, "control", "an instance cannot be prepared: %s",
			builder->error);
	builder->id = 0;
	builder->done(builder->done_ctx, id, !builder->rc);
}

void builder_start(struct builder *builder, uint32_t id)
{
	CHECK(!builder->id && id);
	builder->id = id;
	builder->work.data = builder;
	CHECK(!uv_queue_work(builder->loop, &builder->work, prepare, done));
}
