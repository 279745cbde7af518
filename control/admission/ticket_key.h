/* ticket_key: the secret half of a ticket key, as a file that only its owner may read:
 *
 *   stormweir-ticket-key-1
 *   id: 7
 *   secret_key: <128 hexadecimal digits>
 *
 * For swctl, bots and tests; the server has public keys alone. Thread: any. */
#ifndef SW_CONTROL_ADMISSION_TICKET_KEY_H
#define SW_CONTROL_ADMISSION_TICKET_KEY_H

#include <stdint.h>
#include <stdio.h>

#include "control/admission/ticket.h"

struct ticket_key {
	uint32_t id;
	uint8_t secret_key[TICKET_SECRET_KEY_BYTES];
	uint8_t public_key[32];
};

/* Draws a new pair. After ticket_init. */
void ticket_key_new(struct ticket_key *key, uint32_t id);

/* Writes a new file with mode 0600; never over one that exists. Returns 0 or a negative errno. */
int ticket_key_save(const struct ticket_key *key, const char *path);

/* Returns 0; -EINVAL and a sentence in *why when it is not such a file or its two halves do not
 * belong together; another negative errno when it cannot be read. */
int ticket_key_load(struct ticket_key *key, const char *path, const char **why);

/* The lines for admission.ticket_keys of a configuration. */
void ticket_key_print_yaml(const struct ticket_key *key, FILE *out);

#endif
