#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log_line.h"
#include "common/mono.h"

#define DRAIN_NS    (10 * NS_PER_MS)
#define QUEUE_LINES 512u
#define BATCH_BYTES 65536u
#define RINGS_MAX   128u
#define POP_SLOTS   (8 * MSG_SLOTS_MAX)

struct queued {
	uint64_t wall_ns;
	enum sw_log_level level;
	const char *module;
	char thread[16];
	uint32_t bytes;
	char text[SW_LOG_TEXT_BYTES];
};

/* What one writer has in hand: lines gathered for one write. */
struct batch {
	size_t bytes;
	char text[BATCH_BYTES];
};

/* The one log of the process. */
static struct {
	int file;                /* set-up thread writes before the log thread starts */
	enum sw_log_level level; /* the same */
	uint32_t ring_count;
	struct msg_ring *ring[RINGS_MAX];
	pthread_t thread;

	pthread_mutex_t
		lock; /* guards what follows; held for copies of one line, or of the queue */
	pthread_cond_t wake;
	bool running, stopping;
	uint32_t queued;
	uint64_t lost;
	struct queued *queue; /* [QUEUE_LINES] while running */

	/* the log thread's own */
	struct queued *taken; /* [QUEUE_LINES] */
	struct batch batch;
	struct msg popped[POP_SLOTS];
	struct log_limit limit[LOG_EVENTS_COUNT];
} log_state = {.file = STDERR_FILENO,
	.level = SW_LOG_INFO,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER};

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* All of it or as much as the file takes: a log that cannot be written has nowhere to say so. */
static void file_write(const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(log_state.file, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}

static void batch_flush(struct batch *batch)
{
	file_write(batch->text, batch->bytes);
	batch->bytes = 0;
}

static void batch_line(struct batch *batch, const struct log_line *line)
{
	if (batch->bytes + LOG_LINE_BYTES > sizeof(batch->text))
		batch_flush(batch);
	batch->bytes += log_line_write(line, batch->text + batch->bytes);
}

static void batch_said(struct batch *batch, const char *module, enum sw_log_level level,
	const char *text, int text_bytes)
{
	const struct log_line line = {.wall_ns = wall_ns(),
		.level = level,
		.module = module,
		.thread = "log",
		.text = text,
		.text_bytes = text_bytes > 0 ? (size_t)text_bytes : 0};

	batch_line(batch, &line);
}

static void event_write(struct batch *batch, const struct msg *message, uint64_t now_ns)
{
	char text[SW_LOG_TEXT_BYTES], thread[16];
	const struct log_event_desc *desc;
	struct msg_log_event event;
	uint64_t wall = wall_ns();

	/* Rings carry what our own threads push: another type or id is a bug, but not one to stop a
	 * server for. */
	if (message->type != MSG_LOG_EVENT || message->payload_bytes < sizeof(event))
		return;
	memcpy(&event, msg_payload(message), sizeof(event));
	if (event.event >= LOG_EVENTS_COUNT)
		return;
	desc = &log_event_desc[event.event];
	if (desc->level < log_state.level || !log_limit_take(&log_state.limit[event.event], now_ns))
		return;
	snprintf(thread, sizeof(thread), "%s%u", desc->module, event.thread);
	const struct log_line line = {
		.wall_ns = now_ns > event.time_ns ? wall - (now_ns - event.time_ns) : wall,
		.level = desc->level,
		.module = desc->module,
		.thread = thread,
		.text = text,
		.text_bytes = log_event_text(desc->text, event.arg,
			(const char *)msg_payload(message) + sizeof(event),
			message->payload_bytes - sizeof(event), text, sizeof(text))};

	batch_line(batch, &line);
}

static void rings_drain(struct batch *batch, uint64_t now_ns, bool stopping)
{
	for (uint32_t i = 0; i < log_state.ring_count; i++) {
		uint32_t slots;

		/* Bounded while producers run, so that one busy ring starves no other. */
		for (uint32_t turn = 0; stopping || turn < 64; turn++) {
			slots = msg_ring_pop(log_state.ring[i], log_state.popped, POP_SLOTS);
			if (!slots)
				break;
			for (const struct msg *m = log_state.popped; m < log_state.popped + slots;
				m = msg_next(m))
				event_write(batch, m, now_ns);
		}
	}
}

static void held_write(struct batch *batch, uint64_t now_ns, bool stopping)
{
	char text[128];

	for (uint32_t i = 0; i < LOG_EVENTS_COUNT; i++) {
		uint32_t held = log_limit_held(&log_state.limit[i], now_ns, stopping);

		if (held)
			batch_said(batch, log_event_desc[i].module, log_event_desc[i].level, text,
				snprintf(text, sizeof(text), "%s: and %u more",
					log_event_desc[i].name, held));
	}
}

static void lines_write(struct batch *batch, uint32_t count, uint64_t lost)
{
	char text[64];

	for (uint32_t i = 0; i < count; i++) {
		const struct queued *q = &log_state.taken[i];
		const struct log_line line = {
			q->wall_ns, q->level, q->module, q->thread, q->text, q->bytes};

		batch_line(batch, &line);
	}
	if (lost)
		batch_said(batch, "log", SW_LOG_WARN, text,
			snprintf(text, sizeof(text), "%llu lines were lost: the queue was full",
				(unsigned long long)lost));
}

static void *log_thread(void *arg)
{
	bool stopping;

	(void)arg;
	pthread_setname_np(pthread_self(), "sw-log");
	do {
		struct queued *full;
		struct timespec until;
		uint64_t wake_ns = mono_ns() + DRAIN_NS, lost;
		uint32_t count;

		until.tv_sec = (time_t)(wake_ns / NS_PER_S);
		until.tv_nsec = (long)(wake_ns % NS_PER_S);
		pthread_mutex_lock(&log_state.lock);
		if (!log_state.stopping)
			pthread_cond_clockwait(
				&log_state.wake, &log_state.lock, CLOCK_MONOTONIC, &until);
		stopping = log_state.stopping;
		count = log_state.queued;
		lost = log_state.lost;
		full = log_state.queue;
		log_state.queue = log_state.taken;
		log_state.taken = full;
		log_state.queued = 0;
		log_state.lost = 0;
		pthread_mutex_unlock(&log_state.lock);
		lines_write(&log_state.batch, count, lost);
		rings_drain(&log_state.batch, mono_ns(), stopping);
		held_write(&log_state.batch, mono_ns(), stopping);
		batch_flush(&log_state.batch);
	} while (!stopping);
	return NULL;
}

int sw_log_open(const char *file, const char *level)
{
#define LEVEL_NAME(id, name) name,
	static const char *const names[] = {SW_LOG_LEVELS(LEVEL_NAME)};
	uint32_t found = 0;
	int opened = STDERR_FILENO;

	while (found < SW_LOG_LEVELS_COUNT && strcmp(names[found], level))
		found++;
	if (found == SW_LOG_LEVELS_COUNT)
		return -EINVAL;
	if (file[0])
		opened = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (opened < 0)
		return -errno;
	log_state.file = opened;
	log_state.level = (enum sw_log_level)found;
	return 0;
}

int sw_log_start(struct msg_ring *const *rings, uint32_t count)
{
	int error;

	if (count > RINGS_MAX || log_state.running)
		return -EINVAL;
	log_state.queue = calloc(QUEUE_LINES, sizeof(struct queued));
	log_state.taken = calloc(QUEUE_LINES, sizeof(struct queued));
	if (!log_state.queue || !log_state.taken) {
		error = ENOMEM;
		goto fail;
	}
	if (count)
		memcpy(log_state.ring, rings, count * sizeof(rings[0]));
	log_state.ring_count = count;
	memset(log_state.limit, 0, sizeof(log_state.limit));
	log_state.stopping = false;
	error = pthread_create(&log_state.thread, NULL, log_thread, NULL);
	if (error)
		goto fail;
	pthread_mutex_lock(&log_state.lock);
	log_state.running = true;
	pthread_mutex_unlock(&log_state.lock);
	return 0;
fail:
	free(log_state.queue);
	free(log_state.taken);
	log_state.queue = log_state.taken = NULL;
	return -error;
}

void sw_log_stop(void)
{
	bool running;

	pthread_mutex_lock(&log_state.lock);
	running = log_state.running;
	log_state.running = false; /* later lines are written by their callers */
	log_state.stopping = true;
	pthread_cond_signal(&log_state.wake);
	pthread_mutex_unlock(&log_state.lock);
	if (running) {
		pthread_join(log_state.thread, NULL);
		free(log_state.queue);
		free(log_state.taken);
		log_state.queue = log_state.taken = NULL;
	}
	if (log_state.file != STDERR_FILENO)
		close(log_state.file);
	log_state.file = STDERR_FILENO;
}

void sw_log(enum sw_log_level level, const char *module, const char *format, ...)
{
	struct queued own = {.wall_ns = wall_ns(), .level = level, .module = module};
	bool queued = false;
	va_list args;
	int n;

	if (level < log_state.level)
		return;
	if (pthread_getname_np(pthread_self(), own.thread, sizeof(own.thread)))
		own.thread[0] = 0;
	va_start(args, format);
	n = vsnprintf(own.text, sizeof(own.text), format, args);
	va_end(args);
	if (n < 0)
		return;
	own.bytes = (uint32_t)n < sizeof(own.text) ? (uint32_t)n : (uint32_t)sizeof(own.text) - 1;
	pthread_mutex_lock(&log_state.lock);
	if (log_state.running) {
		queued = true;
		if (log_state.queued < QUEUE_LINES)
			memcpy(&log_state.queue[log_state.queued++], &own,
				offsetof(struct queued, text) + own.bytes);
		else
			log_state.lost++;
	}
	pthread_mutex_unlock(&log_state.lock);
	if (!queued) {
		char out[LOG_LINE_BYTES];
		const struct log_line line = {
			own.wall_ns, level, module, own.thread, own.text, own.bytes};

		file_write(out, log_line_write(&line, out));
	}
}
