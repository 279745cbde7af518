/* swctl pass-key: the keys that the nodes of a cluster seal passes with (admission.pass_keys). */
#include "control/ops/swctl.h"

#include <stdio.h>
#include <string.h>

#include "control/admission/pass_key.h"
#include "control/admission/ticket.h"

static int save(const struct pass_keys *keys, const char *path, bool replace)
{
	int rc = pass_keys_save(keys, path, replace);

	if (rc)
		fprintf(stderr, "swctl: %s: %s\n", path, strerror(-rc));
	return rc ? 1 : 0;
}

static int rotate(const char *path)
{
	struct pass_keys keys;
	const char *why;
	int rc = pass_keys_load(&keys, path, &why);

	if (rc) {
		fprintf(stderr, "swctl: %s: %s\n", path, why ? why : strerror(-rc));
		return 1;
	}
	pass_keys_rotate(&keys);
	rc = save(&keys, path, true);
	pass_keys_wipe(&keys);
	return rc;
}

int swctl_pass_key(int argc, char **argv)
{
	struct pass_keys keys;
	int rc;

	if (argc != 3 || (strcmp(argv[1], "new") && strcmp(argv[1], "rotate"))) {
		fprintf(stderr,
			"swctl: pass-key new FILE, or pass-key rotate FILE; see swctl help\n");
		return 2;
	}
	if (ticket_init()) {
		fprintf(stderr, "swctl: no source of randomness\n");
		return 1;
	}
	if (!strcmp(argv[1], "rotate"))
		return rotate(argv[2]);
	pass_keys_draw(&keys);
	rc = save(&keys, argv[2], false);
	pass_keys_wipe(&keys);
	return rc;
}
