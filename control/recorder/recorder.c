#include "control/recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mono.h"

#define LOOK_NS    (5 * (long)NS_PER_MS)
#define PATH_BYTES (CONFIG_PATH_BYTES + 64u)

struct file {
	struct byte_ring *ring;
	uint32_t shard;
	char path[PATH_BYTES];
	int fd; /* -1: ended */
	uint64_t bytes;
	struct counter_set set;
	_Atomic uint64_t values[RECORDER_COUNTER_COUNT];
};

struct recorder {
	pthread_t thread;
	_Atomic bool stopping, end_ordered;
	_Atomic uint32_t open; /* files */
	uint64_t bytes_max;
	uint8_t *buffer; /* [buffer_bytes]: as large as a ring, so that it takes whole entries */
	uint32_t buffer_bytes;
	uint32_t count;
	struct file files[CONFIG_LCORES_MAX];
};

static bool write_all(int fd, const uint8_t *bytes, size_t count)
{
	while (count) {
		ssize_t done = write(fd, bytes, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		count -= (size_t)done;
	}
	return true;
}

static void end(struct file *f, enum recording_end why)
{
	uint8_t entry[RECORDING_ENTRY_MAX];
	uint32_t bytes = recording_entry_write(
		entry, &(struct recording_entry){.kind = RECORDING_ENDED, .end = (uint8_t)why});

	byte_ring_refuse(f->ring);
	if (why == RECORDING_END_WRITE) { /* back to the last whole entry; the end may fit */
		sw_log(SW_LOG_WARN, "recorder", "%s: %s", f->path, strerror(errno));
		if (ftruncate(f->fd, (off_t)f->bytes) || lseek(f->fd, 0, SEEK_END) < 0)
			bytes = 0;
	}
	if (bytes && write_all(f->fd, entry, bytes))
		f->bytes += bytes;
	close(f->fd);
	f->fd = -1;
	counter_put(&f->values[RECORDER_BYTES], f->bytes);
	counter_put(&f->values[RECORDER_ENDED_STOPPED + (uint32_t)why], 1);
	sw_log(why == RECORDING_END_STOPPED || why == RECORDING_END_ORDERED ? SW_LOG_INFO
									    : SW_LOG_WARN,
		"recorder", "the recording of shard %u has ended (%s): %s, %llu bytes", f->shard,
		recording_end_name(why), f->path, (unsigned long long)f->bytes);
}

/* Returns whether there was something. */
static bool take(struct recorder *r, struct file *f)
{
	bool closed = byte_ring_closed(f->ring); /* before the last bytes are taken */
	uint32_t got = byte_ring_pop(f->ring, r->buffer, r->buffer_bytes);

	if (f->bytes + got > r->bytes_max) {
		end(f, RECORDING_END_FULL);
		return false;
	}
	if (got && !write_all(f->fd, r->buffer, got)) {
		end(f, RECORDING_END_WRITE);
		return false;
	}
	f->bytes += got;
	counter_put(&f->values[RECORDER_BYTES], f->bytes);
	if (closed)
		end(f, RECORDING_END_LOST);
	return got && !closed;
}

static void end_all(struct recorder *r, enum recording_end why)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->files[i].fd >= 0)
			end(&r->files[i], why);
}

static void count_open(struct recorder *r)
{
	uint32_t open_files = 0;

	for (uint32_t i = 0; i < r->count; i++)
		open_files += r->files[i].fd >= 0;
	atomic_store(&r->open, open_files);
}

static void *run(void *arg)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct recorder *r = arg;
	sigset_t all;

	pthread_setname_np(pthread_self(), "sw-recorder");
	/* SIGXFSZ too: at a limit on file sizes the recording ends, not the server. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (;;) {
		/* Read first: what was pushed before the stop is taken after it. */
		bool stopping = atomic_load(&r->stopping);
		bool ordered = atomic_load(&r->end_ordered);

		for (uint32_t i = 0; i < r->count; i++)
			while (r->files[i].fd >= 0 && take(r, &r->files[i]))
				;
		if (stopping)
			break;
		if (ordered)
			end_all(r, RECORDING_END_ORDERED);
		count_open(r);
		nanosleep(&look, NULL);
	}
	end_all(r, RECORDING_END_STOPPED);
	return NULL;
}

/* ---- set-up ---- */

static int open_file(
	struct file *f, const struct sw_config *config, const struct recorder_source *source)
{
	uint8_t header[RECORDING_HEADER_MAX];
	char date[32];
	time_t now = time(NULL);
	struct tm utc;

	f->fd = -1;
	f->ring = source->ring;
	f->shard = source->header->shard;
	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	for (uint32_t n = 0; f->fd < 0 && n < 100; n++) { /* two starts in a second */
		snprintf(f->path, sizeof(f->path), "%s/shard-%u-%s%s%.0u.swrec",
			config->simulation.record, f->shard, date, n ? "-" : "", n);
		f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		if (f->fd < 0 && errno != EEXIST)
			break;
	}
	if (f->fd < 0)
		return -errno;
	f->bytes = recording_header_write(header, source->header);
	if (!write_all(f->fd, header, f->bytes))
		return -errno;
	return 0;
}

static void describe(struct file *f)
{
#define SUM(id, name, kind, help) {name, help, kind},
#define END(id, name, meaning)    {"ended_" name, "recordings that ended: " meaning, COUNTER_SUM},
	static const struct counter_desc descriptions[RECORDER_COUNTER_COUNT] = {
		RECORDER_COUNTERS(SUM) RECORDING_ENDS(END)};
#undef SUM
#undef END

	f->set = (struct counter_set){.group = "recorder",
		.index = f->shard,
		.count = RECORDER_COUNTER_COUNT,
		.desc = descriptions,
		.values = f->values};
}

static void dismiss(struct recorder *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->files[i].fd >= 0)
			close(r->files[i].fd);
	free(r->buffer);
	free(r);
}

struct recorder *recorder_start(const struct sw_config *config,
	const struct recorder_source *sources, uint32_t count, FILE *errors)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		goto no_memory;
	r->bytes_max = config->simulation.record_max_bytes;
	r->buffer_bytes = config->simulation.record_buffer_bytes;
	r->buffer = malloc(r->buffer_bytes);
	if (!r->buffer)
		goto no_memory;
	mkdir(config->simulation.record, 0750); /* what is wrong with it shows at the first file */
	for (uint32_t i = 0; i < count; i++) {
		rc = open_file(&r->files[i], config, &sources[i]);
		r->count++;
		if (rc) {
			fprintf(errors, "simulation.record: %s: %s\n", r->files[i].path,
				strerror(-rc));
			goto fail;
		}
		describe(&r->files[i]);
		sw_log(SW_LOG_INFO, "recorder", "shard %u is recorded in %s", r->files[i].shard,
			r->files[i].path);
	}
	count_open(r);
	rc = pthread_create(&r->thread, NULL, run, r);
	if (rc) {
		fprintf(errors, "simulation.record: no thread: %s\n", strerror(rc));
		goto fail;
	}
	return r;
no_memory:
	fprintf(errors, "simulation.record: no memory (simulation.record_buffer)\n");
	if (!r)
		return NULL;
fail:
	dismiss(r);
	return NULL;
}

uint32_t recorder_end(struct recorder *r)
{
	return atomic_exchange(&r->end_ordered, true) ? 0 : atomic_load(&r->open);
}

uint32_t recorder_open(const struct recorder *r)
{
	return atomic_load(&r->open);
}

void recorder_stop(struct recorder *r)
{
	if (!r)
		return;
	atomic_store(&r->stopping, true);
	pthread_join(r->thread, NULL);
	dismiss(r);
}

const struct counter_set *recorder_counters(const struct recorder *r, uint32_t source)
{
	return &r->files[source].set;
}
