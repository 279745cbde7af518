#include "client/bot/comeback.h"

#include "client/bot/bot.h"
#include "client/bot/random.h"

#define NS_PER_MS 1000000ull
#define WAIT_MS   800u  /* at most, before it comes again */
#define LATER_MS  2000u /* at most, when the server asks for patience */

static void close_old(struct bot *bot)
{
	struct comeback *c = &bot->comeback;

	if (!c->old)
		return;
	if (!c->old_ended)
		journal_end(&c->old_line, c->old, "CLOSED");
	swc_close(c->old);
	c->old = NULL;
}

/* What counts of the client goes to the sums. */
static void count_client(struct bot *bot)
{
	const struct swc_stats *stats = swc_stats(bot->client);

	bot->comeback.reliable_lost += stats->reliable_lost;
	bot->comeback.leaves_unknown += stats->leaves_unknown;
	bot->comeback.unreadable += bot_unreadable(bot->client);
	for (int i = 0; i < SWC_REFUSAL_COUNT; i++)
		if (stats->refused[i])
			bot->comeback.unreadable_why = swc_refusal_text((enum swc_refusal)i);
}

static bool comes_with_pass(const struct bot *bot)
{
	return bot->options->pass && bot->pass_bytes;
}

static bool may_come(const struct bot *bot)
{
	const struct comeback *c = &bot->comeback;

	return !c->leaving && !c->again_ns &&
	       (c->ticket < bot->options->returns || comes_with_pass(bot));
}

static void come_in(struct bot *bot, uint64_t now_ns, uint64_t wait_ms)
{
	bot->closed = true;
	bot->comeback.again_ns = now_ns + 1 + wait_ms * NS_PER_MS;
}

/* The first connection stays, heard or not, until the second is on a map. */
static void keep_old(struct bot *bot, bool mute)
{
	struct comeback *c = &bot->comeback;

	close_old(bot);
	count_client(bot);
	c->old = bot->client;
	c->old_deal = bot->trader.deal;
	c->old_line = bot->journal;
	c->old_mute = mute;
	c->old_ended = false;
	bot->client = NULL;
}

bool comeback_drop(struct bot *bot, enum comeback_cause cause, uint64_t now_ns)
{
	struct comeback *c = &bot->comeback;
	uint32_t wait_ms = bot_random_below(&c->random, WAIT_MS);

	if (!may_come(bot))
		return false;
	c->causes[cause]++;
	switch (cause) {
	case COMEBACK_left: /* comes again when it has ended */
		swc_leave(bot->client);
		return true;
	case COMEBACK_replaced:
		wait_ms = 0;
		/* fall through */
	case COMEBACK_muted:
		keep_old(bot, cause == COMEBACK_muted);
		break;
	case COMEBACK_vanished:
	case COMEBACK_silence:
	case COMEBACK_ended:
	case COMEBACK_CAUSE_COUNT:
		journal_end(&bot->journal, bot->client, "CLOSED");
		count_client(bot);
		swc_close(bot->client);
		bot->client = NULL;
		break;
	}
	come_in(bot, now_ns, wait_ms);
	return true;
}

void comeback_ended(struct bot *bot, uint64_t now_ns)
{
	struct comeback *c = &bot->comeback;
	uint32_t later_ms = bot->retry_ms < LATER_MS ? bot->retry_ms : LATER_MS;

	if (!may_come(bot))
		return;
	c->causes[COMEBACK_ended] += !bot->left_by_us;
	come_in(bot, now_ns, bot_random_below(&c->random, WAIT_MS) + later_ms);
}

int comeback_due(struct bot *bot, uint64_t now_ns)
{
	struct comeback *c = &bot->comeback;
	int error;

	if (!c->again_ns || now_ns < c->again_ns || c->leaving)
		return 0;
	c->again_ns = 0;
	if (bot->client) {
		count_client(bot);
		swc_close(bot->client);
		bot->client = NULL;
	}
	/* One that was not used up serves again. */
	bot->ticket_used |= bot->connected && !bot->retry_ms && !bot->with_pass;
	if (bot->ticket_used && !comes_with_pass(bot)) {
		c->ticket++;
		bot->ticket_used = false;
	}
	error = bot_connect(bot);
	return error ? error : 1;
}

void comeback_service(struct bot *bot, uint64_t now_ns)
{
	struct comeback *c = &bot->comeback;

	if (!c->old)
		return;
	if (!c->old_mute && swc_state(c->old) != SWC_CLOSED)
		swc_service(c->old, now_ns);
	if (bot->joined || c->leaving || swc_state(c->old) == SWC_CLOSED)
		close_old(bot);
}

void comeback_leave(struct bot *bot)
{
	bot->comeback.leaving = true;
	bot->comeback.again_ns = 0;
	if (bot->client)
		swc_leave(bot->client);
}

void comeback_close(struct bot *bot)
{
	close_old(bot);
	swc_close(bot->client);
	bot->client = NULL;
}
