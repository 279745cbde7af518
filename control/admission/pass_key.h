/* pass_key: the keys of passes (pass.h), as a file that only its owner may read and that all nodes
 * of a cluster have alike:
 *
 *   stormweir-pass-keys-1
 *   id: 2
 *   secret: <64 hexadecimal digits>
 *   id: 1
 *   secret: <64 hexadecimal digits>
 *
 * The first one seals; one or two of them. To change the key: swctl pass-key rotate. Thread: any.
 */
#ifndef SW_CONTROL_ADMISSION_PASS_KEY_H
#define SW_CONTROL_ADMISSION_PASS_KEY_H

#include "control/admission/pass.h"

/* One key, drawn at random: of a node that is alone, whose passes end with its process. After
 * ticket_init. */
void pass_keys_draw(struct pass_keys *keys);

/* A new key is put first; the last one stays to open with. */
void pass_keys_rotate(struct pass_keys *keys);

/* Writes a new file with mode 0600. replace: instead of one that exists, at once; otherwise never
 * over one. Returns 0 or a negative errno. */
int pass_keys_save(const struct pass_keys *keys, const char *path, bool replace);

/* Returns 0; -EINVAL and a sentence in *why when it is not such a file; -EACCES and a sentence when
 * others than its owner may read it; another negative errno when it cannot be read. */
int pass_keys_load(struct pass_keys *keys, const char *path, const char **why);

/* Overwrites them. */
void pass_keys_wipe(struct pass_keys *keys);

#endif
