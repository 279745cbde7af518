/* guard.c: the cheap refusals of CONNECT: a token bucket per source, then one over all. In this
 * order: what one source sends beyond its own rate must not use up what all the others share.
 *
 * A share of the common bucket, which several engines may have together (common/rate.h), is kept
 * for addresses that proved themselves of late (returning.c): strangers leave that much in it. So a
 * flood of invented sources takes all of the rest, and who drops meanwhile gets back in, while what
 * they do not need is everyone's. Who sends in the name of an address that is known to have played
 * has that source's bucket, no more.
 *
 * The table of sources is small and set-associative: four to a set, and a newcomer takes the place
 * of the one that has been quiet longest. A flood of invented addresses can push honest ones out,
 * which hands them a full bucket: the global bucket bounds what that is worth. While that is empty
 * nobody takes a place. */
#include "dataplane/enet/engine.h"

/* Adds what at per_s a second came since it was last filled. */
static void bucket_fill(struct bucket *bucket, uint32_t per_s, uint32_t burst, uint64_t now_ms)
{
	uint64_t full = (uint64_t)burst * 1000;
	uint64_t elapsed = now_ms - bucket->at_ms;

	/* per_s thousandths per ms; an hour fills any bucket that is worth the name */
	if (elapsed > 3600000)
		elapsed = 3600000;
	bucket->tokens_milli += elapsed * per_s;
	if (bucket->tokens_milli > full)
		bucket->tokens_milli = full;
	bucket->at_ms = now_ms;
}

static bool bucket_take(struct bucket *bucket)
{
	if (bucket->tokens_milli < 1000)
		return false;
	bucket->tokens_milli -= 1000;
	return true;
}

uint64_t guard_source_key(const struct sw_enet *e, const struct sw_enet_addr *from)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sw_enet_addr source = *from;

	source.port = 0;
	if (memcmp(source.ip, mapped, sizeof mapped) != 0)
		memset(source.ip + 8, 0, 8); /* IPv6: whoever has one address has its /64 */
	return peer_hash(e, &source, 0) | 1;
}

/* One from what all sources share, keep left in it. Nothing is added to it before the clock moves,
 * so one failure stands for the rest of its millisecond: *spent_ms. */
static bool common_take(struct sw_enet *e, uint32_t keep, uint64_t *spent_ms)
{
	if (*spent_ms == e->now_ms)
		return false;
	if (rate_take(e->connects, e->config.connects_per_s, e->config.connects_burst, keep,
		    e->now_ms * 1000000))
		return true;
	*spent_ms = e->now_ms;
	return false;
}

static struct source *source_of(struct sw_enet *e, uint64_t key)
{
	struct source *set, *source;

	source = set = &e->sources[(uint32_t)(key >> 32) & e->source_mask & ~(SOURCE_WAYS - 1)];
	for (uint32_t i = 0; i < SOURCE_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].bucket.at_ms < source->bucket.at_ms)
			source = &set[i];
	}
	source->key = key;
	source->bucket.tokens_milli = (uint64_t)e->config.source_connects_burst * 1000;
	source->bucket.at_ms = e->now_ms;
	return source;
}

/* key: guard_source_key of where it came from. Returns 0, or the refusal. */
uint32_t guard_connect(struct sw_enet *e, uint64_t key)
{
	const struct sw_enet_config *config = &e->config;
	bool kept = e->kept_burst && e->kept_spent_ms != e->now_ms;
	struct source *source;

	/* In a flood nearly all end here, before their own bucket, a cold line, is looked for: it
	 * would get back what it gave. */
	if (e->common_spent_ms == e->now_ms && !(kept && returning_known(e, key)))
		return SW_ENET_C_CONNECT_RATE;
	source = source_of(e, key);
	bucket_fill(&source->bucket, config->source_connects_per_s, config->source_connects_burst,
		e->now_ms);
	if (!bucket_take(&source->bucket))
		return SW_ENET_C_CONNECT_SOURCE_RATE;
	if (common_take(e, e->kept_burst, &e->common_spent_ms))
		return 0;
	if (kept && returning_known(e, key) && common_take(e, 0, &e->kept_spent_ms)) {
		count(e, SW_ENET_C_CONNECTS_RETURNING, 1);
		return 0;
	}
	source->bucket.tokens_milli += 1000; /* it was not the source's fault */
	return SW_ENET_C_CONNECT_RATE;
}
