/* tokens: who may give which orders. A file with a line "NAME ROLE TOKEN" for each operator, of
 * mode 0600; empty lines and lines that begin with # are skipped. A name may have several tokens,
 * so that one can be replaced while both are good. The file is read at each look, so no change
 * needs a restart. Roles: OPERATOR_ROLES of common/msg.h.
 *
 * Any thread but a hot one. */
#ifndef SW_CONTROL_OPS_TOKENS_H
#define SW_CONTROL_OPS_TOKENS_H

#include <stddef.h>

#include "common/msg.h"

#define TOKEN_BYTES_MIN 32u /* characters of a token */
#define TOKEN_BYTES_MAX 128u
#define TOKENS_FILE_MAX 65536u
#define TOKENS_LINE_MAX 256u

/* X(id, sentence) */
#define TOKEN_FAULTS(X)                                                                            \
	X(NONE, "known")                                                                           \
	X(OFF, "this node takes no orders: ops.tokens of its configuration names no file")         \
	X(MISSING, "no token came with the order: name its file with --token, or in SWCTL_TOKEN")  \
	X(FILE_READ, "the node cannot read the file of ops.tokens; its log says why")              \
	X(FILE_MODE, "the node does not use the file of ops.tokens: others than its owner may "    \
		     "read or write it (chmod 600)")                                               \
	X(FILE_LINE,                                                                               \
		"the node does not use the file of ops.tokens: a line of it is not NAME ROLE "     \
		"TOKEN, with a role of read, operate or admin and a token of 32 to 128 "           \
		"characters")                                                                      \
	X(FILE_TWICE, "the node does not use the file of ops.tokens: this token is in two lines")  \
	X(WRONG, "no operator has this token")
#define TOKEN_FAULT_ENUM(id, sentence) TOKEN_FAULT_##id,
enum token_fault { TOKEN_FAULTS(TOKEN_FAULT_ENUM) TOKEN_FAULT_COUNT };
const char *token_fault_text(enum token_fault fault);

struct operator
{
	char name[ORDER_AUTHOR_BYTES];
	enum operator_role role;
};

/* OPERATOR_ROLE_COUNT: there is no such role. */
enum operator_role operator_role_of(const char *name);

/* Whose token it is. path: ops.tokens, "" for none; token: NULL or "" where none came. Each token
 * of the file is compared, in a time that does not depend on what is in it. *who is filled with
 * NONE alone. */
enum token_fault tokens_operator(const char *path, const char *token, struct operator* who);

/* The first token of a file of that kind, for swctl. */
enum token_fault tokens_first(const char *path, char token[TOKEN_BYTES_MAX + 1]);

#endif
