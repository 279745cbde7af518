#include "control/ops/ops.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "common/check.h"
#include "common/mono.h"
#include "control/ops/ops_internal.h"

/* Whoever opens connections and says nothing must not keep a probe out: room for many, each small,
 * and they are closed soon. Memory: 512 · 8 KiB = 4 MiB at most, and 512 descriptors. What does not
 * fit waits in the kernel's queue, as long again. */
#define CONNECTIONS_MAX  512u
#define CONNECTION_BYTES 8192u /* of a request with all its headers; more is answered with 431 */
#define IDLE_S           2u

/* ---- the registry ---- */

struct ops *ops_new(void)
{
	struct ops *ops = calloc(1, sizeof(*ops));

	if (!ops)
		return NULL;
	orders_init(&ops->orders);
	ops_register_counters(ops, &ops->orders.set);
	return ops;
}

/* Room for one more; set-up time, so out of memory is the end. */
static void *grow(void *array, uint32_t count, size_t bytes)
{
	array = realloc(array, (count + 1) * bytes);
	CHECK(array);
	return array;
}

void ops_register_counters(struct ops *ops, const struct counter_set *set)
{
	CHECK(!ops->daemon);
	ops->sets = grow(ops->sets, ops->set_count, sizeof(struct counter_set *));
	ops->sets[ops->set_count++] = set;
}

void ops_register_histogram(struct ops *ops, const struct histogram_ref *ref)
{
	CHECK(!ops->daemon);
	ops->histograms = grow(ops->histograms, ops->histogram_count, sizeof(*ref));
	ops->histograms[ops->histogram_count++] = *ref;
}

void ops_register_health(struct ops *ops, const char *name, ops_health_fn *fn, void *ctx)
{
	CHECK(!ops->daemon);
	ops->components = grow(ops->components, ops->component_count, sizeof(struct ops_component));
	ops->components[ops->component_count++] = (struct ops_component){name, fn, ctx};
}

void ops_register_instances(struct ops *ops, ops_instance_fn *fn, void *ctx)
{
	CHECK(!ops->daemon && !ops->instances);
	ops->instances = fn;
	ops->instances_ctx = ctx;
}

void ops_register_ready(struct ops *ops, ops_health_fn *fn, void *ctx)
{
	CHECK(!ops->daemon && !ops->ready.fn);
	ops->ready = (struct ops_component){"ready", fn, ctx};
}

void ops_register_orders(
	struct ops *ops, struct msg_ring *to_control, struct msg_ring *from_control)
{
	CHECK(!ops->daemon && !ops->orders.to_control);
	ops->orders.to_control = to_control;
	ops->orders.from_control = from_control;
}

void ops_order_answered(struct ops *ops, uint64_t subject)
{
	orders_wake(&ops->orders, subject);
}

const char *ops_level_name(enum ops_level level)
{
	static const char *const names[OPS_LEVEL_COUNT] = {
#define NAME(id, name, meaning) name,
		OPS_LEVELS(NAME)
#undef NAME
	};

	return names[level];
}

static enum ops_level ask(const struct ops_component *component, char sentence[OPS_SENTENCE_BYTES])
{
	sentence[0] = 0;
	return component->fn(component->ctx, sentence, OPS_SENTENCE_BYTES);
}

enum ops_level ops_ask(const struct ops *ops,
	void (*each)(void *ctx, const char *name, enum ops_level level, const char *sentence),
	void *ctx)
{
	enum ops_level worst = OPS_GREEN, level;
	char sentence[OPS_SENTENCE_BYTES];

	for (uint32_t i = 0; i < ops->component_count; i++) {
		level = ask(&ops->components[i], sentence);
		if (level > worst)
			worst = level;
		if (each)
			each(ctx, ops->components[i].name, level, sentence);
	}
	return worst;
}

/* ---- HTTP ---- */

static unsigned answer_metrics(const struct ops *ops, FILE *out)
{
	ops_metrics(ops, mono_ns(), out);
	return MHD_HTTP_OK;
}

static unsigned answer_health(const struct ops *ops, FILE *out)
{
	return ops_health_json(ops, out) == OPS_RED ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK;
}

static unsigned answer_ready(const struct ops *ops, FILE *out)
{
	char sentence[OPS_SENTENCE_BYTES];

	if (ops_ask(ops, NULL, NULL) == OPS_RED) {
		fprintf(out, "not ready: see /health\n");
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	if (ops->ready.fn && ask(&ops->ready, sentence) != OPS_GREEN) {
		fprintf(out, "not ready: %s\n", sentence);
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	fprintf(out, "ready\n");
	return MHD_HTTP_OK;
}

static unsigned answer_status(const struct ops *ops, FILE *out)
{
	ops_status_json(ops, mono_ns(), out);
	return MHD_HTTP_OK;
}

static unsigned answer_page(const struct ops *ops, FILE *out)
{
	(void)ops;
	fputs(ops_page, out);
	return MHD_HTTP_OK;
}

static const struct page {
	const char *path, *type;
	unsigned (*answer)(const struct ops *ops, FILE *out);
} pages[] = {
	{"/", "text/html; charset=utf-8", answer_page},
	{"/metrics", "text/plain; version=0.0.4; charset=utf-8", answer_metrics},
	{"/health", "application/json", answer_health},
	{"/ready", "text/plain; charset=utf-8", answer_ready},
	{"/status", "application/json", answer_status},
};

static const struct page *page_find(const char *path)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (!strcmp(path, pages[i].path))
			return &pages[i];
	return NULL;
}

/* Takes body, which malloc gave. */
static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *type,
	bool order, char *body, size_t bytes)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(bytes, body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(body);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(
			response, MHD_HTTP_HEADER_ALLOW, order ? "POST" : "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* What MHD keeps of a request that has nothing to keep. */
static char not_an_order;

/* Everything but orders: answered at once. */
static unsigned answer(
	const struct ops *ops, const struct page *page, const char *method, bool order, FILE *out)
{
	if (order || (strcmp(method, "GET") && strcmp(method, "HEAD"))) {
		fprintf(out, order ? "only POST\n" : "only GET\n");
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	if (page)
		return page->answer(ops, out);
	fprintf(out, "there are /, /metrics, /health, /ready and /status, and /order to post to\n");
	return MHD_HTTP_NOT_FOUND;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **request)
{
	struct ops *ops = ctx;
	const struct page *page = page_find(url);
	bool order = !strcmp(url, "/order"), post = order && !strcmp(method, "POST");
	unsigned status;
	char *body = NULL;
	size_t bytes = 0;
	FILE *out;

	(void)version;
	/* The first call is before the body of the request, which all but orders ignore. */
	if (!*request) {
		*request = post ? (void *)order_new(&ops->orders) : (void *)&not_an_order;
		return *request ? MHD_YES : MHD_NO;
	}
	if (*upload_bytes) {
		if (post)
			order_body(*request, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	out = open_memstream(&body, &bytes);
	if (!out)
		return MHD_NO;
	if (!post) {
		status = answer(ops, page, method, order, out);
	} else if (!order_go_on(&ops->orders, *request, connection, ops->config->ops.tokens,
			   &status, out)) {
		fclose(out);
		free(body);
		return MHD_YES; /* called again when the answer is there */
	}
	if (fclose(out)) {
		free(body);
		return MHD_NO;
	}
	return respond(connection, status, page ? page->type : "text/plain; charset=utf-8", order,
		body, bytes);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode how)
{
	struct ops *ops = ctx;

	(void)how;
	(void)connection;
	if (*request && *request != &not_an_order)
		order_free(&ops->orders, *request);
	*request = NULL;
}

/* ---- life ---- */

static int address_parse(const char *text, struct sockaddr_in *name)
{
	char host[64];
	const char *colon = strrchr(text, ':');
	char *end;
	unsigned long port;

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = 0;
	port = strtoul(colon + 1, &end, 10);
	memset(name, 0, sizeof(*name));
	name->sin_family = AF_INET;
	name->sin_port = htons((uint16_t)port);
	if (*end || end == colon + 1 || port > 65535 ||
		inet_pton(AF_INET, host, &name->sin_addr) != 1)
		return -EINVAL;
	/* All but orders is open to whoever asks, who must be on this machine. */
	return ntohl(name->sin_addr.s_addr) >> 24 == 127 ? 0 : -EPERM;
}

static int listen_on(struct sockaddr_in *name)
{
	socklen_t length = sizeof(*name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)name, length) || listen(fd, CONNECTIONS_MAX) ||
		getsockname(fd, (struct sockaddr *)name, &length)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int ops_start(struct ops *ops, const struct sw_config *config, FILE *errors)
{
	sigset_t all, before;
	struct sockaddr_in name;
	int fd = address_parse(config->http.address, &name);

	if (fd == -EPERM) {
		fprintf(errors, "http.address: %s is not a loopback address (127.x.x.x)\n",
			config->http.address);
		return fd;
	}
	if (!fd)
		fd = listen_on(&name);
	if (fd < 0) {
		fprintf(errors, "http.address: cannot listen on %s: %s%s\n", config->http.address,
			strerror(-fd),
			fd == -EADDRINUSE ? " (is another stormweir running? choose another port)"
					  : "");
		return fd;
	}
	ops->config = config;
	ops->port = ntohs(name.sin_port);
	ops->started_ns = mono_ns();
	/* Signals are for the main thread; threads inherit the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ops->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
		NULL, on_request, ops, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, ops, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!ops->daemon) {
		fprintf(errors, "http.address: libmicrohttpd does not start on %s\n",
			config->http.address);
		close(fd);
		return -EIO;
	}
	return 0;
}

uint16_t ops_port(const struct ops *ops)
{
	return ops->port;
}

void ops_stop(struct ops *ops)
{
	orders_stop(&ops->orders);
	if (ops->daemon)
		MHD_stop_daemon(ops->daemon); /* closes the socket too */
	ops->daemon = NULL;
}

void ops_free(struct ops *ops)
{
	if (!ops)
		return;
	CHECK(!ops->daemon);
	free(ops->sets);
	free(ops->histograms);
	free(ops->components);
	orders_fini(&ops->orders);
	free(ops);
}
