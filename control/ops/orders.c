#include "control/ops/orders.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <microhttpd.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/log.h"
#include "control/ops/tokens.h"

enum order_state { ORDER_READING, ORDER_SENT, ORDER_ANSWERED };

struct order {
	enum order_state state;
	uint64_t id; /* 0: it has no place */
	struct MHD_Connection *connection;
	char body[ORDER_WORDS_BYTES + 1];
	size_t body_bytes;
	bool too_long;
	uint32_t result; /* enum order_result */
	uint32_t text_bytes;
	char text[ORDER_TEXT_BYTES];
};

_Static_assert(sizeof(struct msg_order) + ORDER_WORDS_BYTES <= MSG_PAYLOAD_MAX &&
		       sizeof(struct msg_order_answer) + ORDER_TEXT_BYTES <= MSG_PAYLOAD_MAX,
	"one message");

void orders_init(struct orders *o)
{
	static const struct counter_desc descriptions[OPS_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
		OPS_COUNTERS(DESC)
#undef DESC
	};

	pthread_mutex_init(&o->lock, NULL);
	o->set = (struct counter_set){"ops", 0, OPS_COUNTER_COUNT, descriptions, o->counters};
}

void orders_fini(struct orders *o)
{
	pthread_mutex_destroy(&o->lock);
}

struct order *order_new(struct orders *o)
{
	(void)o;
	return calloc(1, sizeof(struct order));
}

void order_free(struct orders *o, struct order *order)
{
	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < ORDERS_MAX; i++)
		if (o->places[i] == order)
			o->places[i] = NULL;
	pthread_mutex_unlock(&o->lock);
	free(order);
}

void order_body(struct order *order, const char *bytes, size_t count)
{
	if (count > ORDER_WORDS_BYTES - order->body_bytes) {
		order->too_long = true;
		return;
	}
	memcpy(order->body + order->body_bytes, bytes, count);
	order->body_bytes += count;
}

/* With the lock held. */
static struct order *find(struct orders *o, uint64_t id)
{
	for (uint32_t i = 0; i < ORDERS_MAX; i++)
		if (o->places[i] && o->places[i]->id == id)
			return o->places[i];
	return NULL;
}

static void take_answer(struct orders *o, const struct msg *m)
{
	struct msg_order_answer body;
	struct order *order;

	if (m->type != MSG_ORDER_ANSWER || m->payload_bytes < sizeof(body))
		return;
	memcpy(&body, msg_payload(m), sizeof(body));
	pthread_mutex_lock(&o->lock);
	order = find(o, m->subject);
	pthread_mutex_unlock(&o->lock);
	/* Its client may have gone. */
	if (!order || order->state != ORDER_SENT ||
		body.text_bytes > m->payload_bytes - sizeof(body) ||
		body.text_bytes > sizeof(order->text))
		return;
	memcpy(order->text, msg_payload(m) + sizeof(body), body.text_bytes);
	order->text_bytes = body.text_bytes;
	order->result = body.result < ORDER_RESULT_COUNT ? body.result : ORDER_UNAVAILABLE;
	order->state = ORDER_ANSWERED;
}

static void take_answers(struct orders *o)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(o->from_control, o->scratch, ORDERS_SCRATCH_SLOTS)))
		for (const struct msg *m = o->scratch; m < o->scratch + slots; m = msg_next(m))
			take_answer(o, m);
}

static const char *bearer(struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const char *value =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	return value && !strncmp(value, scheme, strlen(scheme)) ? value + strlen(scheme) : NULL;
}

/* The body's lines become words. 0: that is no order. What is written into logs and into the
 * database has no control characters, and is UTF-8. */
static uint32_t words_of(struct order *order)
{
	json_t *text = json_stringn(order->body, order->body_bytes);
	uint32_t words = 0;
	bool good = text && !order->too_long;

	json_decref(text);
	if (order->body_bytes && order->body[order->body_bytes - 1] != '\n')
		order->body[order->body_bytes++] = '\n';
	for (size_t i = 0; i < order->body_bytes && good; i++) {
		unsigned char byte = (unsigned char)order->body[i];

		good = byte == '\n' ? i > 0 && order->body[i - 1] : byte >= ' ' && byte != 0x7f;
		if (byte == '\n') {
			order->body[i] = 0;
			words++;
		}
	}
	return good && order->body_bytes <= ORDER_WORDS_BYTES ? words : 0;
}

static bool send_order(struct orders *o, struct order *order, struct MHD_Connection *connection,
	const struct operator* who, uint32_t words)
{
	struct msg_order body = {
		.role = who->role, .words = words, .words_bytes = (uint32_t)order->body_bytes};
	struct msg *message = o->scratch;
	uint32_t place = 0;
	uint8_t *payload;
	bool good = false;

	take_answers(o); /* nobody comes for those to clients that went away, and the ring fills */
	memcpy(body.author, who->name, sizeof(body.author));
	payload = msg_begin(
		message, MSG_ORDER, HANDLE_NONE, (uint32_t)sizeof(body) + body.words_bytes);
	memcpy(payload, &body, sizeof(body));
	memcpy(payload + sizeof(body), order->body, body.words_bytes);
	pthread_mutex_lock(&o->lock);
	while (place < ORDERS_MAX && o->places[place])
		place++;
	if (place < ORDERS_MAX && !o->stopping && msg_ring_room(o->to_control) >= message->slots) {
		order->id = message->subject = ++o->last_id;
		order->connection = connection;
		order->state = ORDER_SENT;
		o->places[place] = order;
		MHD_suspend_connection(connection); /* before an answer can wake it */
		CHECK(msg_ring_push(o->to_control, message));
		good = true;
	}
	pthread_mutex_unlock(&o->lock);
	return good;
}

static bool refuse(struct orders *o, enum ops_counter counter, FILE *out, const char *text)
{
	counter_add(&o->counters[counter], 1);
	fprintf(out, "%s\n", text);
	return true;
}

static bool begin(struct orders *o, struct order *order, struct MHD_Connection *connection,
	const char *tokens_path, unsigned *status, FILE *out)
{
	struct operator who;
	enum token_fault fault =
		tokens_operator(o->to_control ? tokens_path : "", bearer(connection), &who);
	uint32_t words;

	if (fault != TOKEN_FAULT_NONE) {
		*status = MHD_HTTP_UNAUTHORIZED;
		if (fault != TOKEN_FAULT_OFF)
			sw_log(SW_LOG_WARN, "ops", "an order is not taken: %s",
				token_fault_text(fault));
		return refuse(o, OPS_C_UNAUTHORIZED, out, token_fault_text(fault));
	}
	words = words_of(order);
	if (!words) {
		*status = MHD_HTTP_BAD_REQUEST;
		return refuse(o, OPS_C_UNREADABLE, out,
			"an order is a list of words, one a line, of 1 KiB at most in all");
	}
	if (!send_order(o, order, connection, &who, words)) {
		*status = MHD_HTTP_SERVICE_UNAVAILABLE;
		return refuse(o, OPS_C_BUSY, out,
			"too many orders are under way, or the server is stopping");
	}
	counter_add(&o->counters[OPS_C_ORDERS], 1);
	return false;
}

bool order_go_on(struct orders *o, struct order *order, struct MHD_Connection *connection,
	const char *tokens_path, unsigned *status, FILE *out)
{
	static const unsigned statuses[ORDER_RESULT_COUNT] = {
#define STATUS(id, status, meaning) status,
		ORDER_RESULTS(STATUS)
#undef STATUS
	};

	if (order->state == ORDER_READING)
		return begin(o, order, connection, tokens_path, status, out);
	take_answers(o);
	if (order->state != ORDER_ANSWERED) { /* woken by orders_stop */
		*status = MHD_HTTP_SERVICE_UNAVAILABLE;
		return refuse(o, OPS_C_UNANSWERED, out,
			"the server has stopped; what became of the order says its log");
	}
	*status = statuses[order->result];
	fwrite(order->text, 1, order->text_bytes, out);
	return true;
}

void orders_wake(struct orders *o, uint64_t id)
{
	struct order *order;

	pthread_mutex_lock(&o->lock);
	order = find(o, id);
	if (order && order->connection)
		MHD_resume_connection(order->connection);
	if (order)
		order->connection = NULL; /* once */
	pthread_mutex_unlock(&o->lock);
}

void orders_stop(struct orders *o)
{
	pthread_mutex_lock(&o->lock);
	o->stopping = true;
	for (uint32_t i = 0; i < ORDERS_MAX; i++) {
		if (!o->places[i] || !o->places[i]->connection)
			continue;
		MHD_resume_connection(o->places[i]->connection);
		o->places[i]->connection = NULL;
	}
	pthread_mutex_unlock(&o->lock);
}
