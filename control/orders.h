/* orders: what operators may order of a node. An order comes as a list of words with the name of
 * who gave it (MSG_ORDER); every one, also one that is refused, is answered with a text for a
 * person, written to the log and sent to the world thread for ops_audit_log.
 *
 *   instance open MAP                operate: one more instance of a map or room
 *   instance close SLOT.GENERATION [why ...]     operate
 *   kick PLAYER [why ...]            operate; PLAYER: a character's id, or its name
 *   ledger grant CHARACTER WHAT AMOUNT REQUEST why ..., ledger take ...      admin; WHAT: gold,
 *                                    experience, item:NUMBER or single:NUMBER (common/correction.h)
 *   ledger reverse REQUEST why ...   admin: the opposite of one commit
 *   party PARTY|PLAYER               read: its members, its leader, where they are
 *   player PLAYER                    read: where it is, and what of it is not saved
 *   record start, record stop        admin; ends the recordings of the shards (simulation.record)
 *   script list, script errors|profile MAP|all   read: versions, failures, who spends the time
 *   script reload|rollback MAP|all [why ...]     operate: scripts.h
 *   script release MAP|all [NAME]    operate: of the NPC or declaration of that name, or of all
 *   gate close|open [why ...]        operate: nobody is let in, by any node; as before
 *   gate throttle RATE [why ...]     operate: so many a second, by all nodes together
 *   gate status                      read
 *   chat announce TEXT ...           operate: to everybody, kept
 *   chat mute PLAYER MINUTES [why ...]   operate; 0 ends it
 *   chat ban PLAYER CHANNEL MINUTES [why ...]    operate; CHANNEL: global, language:de, party:7, or
 *                                    the number that chat history shows
 *   chat slow CHANNEL SECONDS        operate; 0 ends it
 *   chat history CHANNEL             read: what was said last
 *   chat reports                     read: what players reported and nobody has closed
 *   chat close REPORT                operate
 *   chat erase CHARACTER [why ...]   admin: what one character has ever said
 *
 * The first word of each meaning is the role that it needs (OPERATOR_ROLES of common/msg.h). To
 * add one, write its function and its line in the table of orders.c. A function answers, or
 * keeps the order with order_keep and answers later; one that is kept is answered at its deadline
 * by itself. `why` goes into the audit with the other words, and nowhere else.
 *
 * Thread: the control thread. */
#ifndef SW_CONTROL_ORDERS_H
#define SW_CONTROL_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"
#include "control/party/party.h"

struct ctl;

#define ORDERS_KEPT_MAX  16u /* as many as ops has under way */
#define ORDERS_WORDS_MAX 64u
#define ORDERS_KEEP_MS   4000u /* less than swctl waits */

struct kept_order {
	uint64_t id; /* 0: free */
	uint64_t deadline_ns;
	uint32_t definition; /* of `instance open`; DIRECTOR_NO_DEFINITION */
	char author[ORDER_AUTHOR_BYTES];
	char what[AUDIT_TEXT_BYTES]; /* the words */
	char text[ORDER_TEXT_BYTES]; /* of an answer that waits for its end */
	char late[128];              /* the answer at the deadline, after text */
	bool late_good;
};

struct orders_table {
	struct kept_order kept[ORDERS_KEPT_MAX];
};

/* MSG_ORDER. */
void orders_take(struct ctl *ctl, const struct msg *message, uint64_t now_ns);
/* director_ops.asked: ctx is the ctl. */
void orders_opened(void *ctx, uint32_t definition, uint32_t id);
/* MSG_CORRECTION_RESULT. */
void orders_corrected(struct ctl *ctl, const struct msg *message);
/* MSG_WRITES_RESULT. */
void orders_writes(struct ctl *ctl, const struct msg *message);
/* party_ops.looked: ctx is the ctl. */
void orders_looked(
	void *ctx, uint64_t request, enum party_look look, const struct party_view *view);
/* gate_link_fn: ctx is the ctl. */
void orders_gate(void *ctx, uint64_t id, bool good, const char *text);
/* MSG_CHAT_ORDER_ANSWER. */
void orders_chat_answered(struct ctl *ctl, const struct msg *message);
/* Deadlines; every few milliseconds. */
void orders_tick(struct ctl *ctl, uint64_t now_ns);

#endif
