#include "control/admission/pass_key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "common/config.h"

#define HEAD       "stormweir-pass-keys-1\n"
#define HEX_BYTES  (2 * PASS_KEY_BYTES + 1)
#define TEXT_BYTES 512u

_Static_assert(PASS_KEY_BYTES == 32, "the 64 digits that are read below");

void pass_keys_draw(struct pass_keys *keys)
{
	memset(keys, 0, sizeof(*keys));
	keys->count = 1;
	keys->keys[0].id = 1;
	randombytes_buf(keys->keys[0].secret, PASS_KEY_BYTES);
}

void pass_keys_rotate(struct pass_keys *keys)
{
	keys->keys[1] = keys->keys[0];
	keys->count = 2;
	keys->keys[0].id = keys->keys[1].id + 1;
	randombytes_buf(keys->keys[0].secret, PASS_KEY_BYTES);
}

static int write_new(const char *path, const char *text, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, bytes) != (ssize_t)bytes)
		rc = -EIO;
	if (!rc && fsync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (rc)
		unlink(path);
	return rc;
}

int pass_keys_save(const struct pass_keys *keys, const char *path, bool replace)
{
	char text[TEXT_BYTES] = HEAD, hex[HEX_BYTES], beside[CONFIG_PATH_BYTES + 8];
	size_t bytes = strlen(text);
	int rc;

	for (uint32_t i = 0; i < keys->count; i++) {
		sodium_bin2hex(hex, sizeof(hex), keys->keys[i].secret, PASS_KEY_BYTES);
		bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes,
			"id: %" PRIu32 "\nsecret: %s\n", keys->keys[i].id, hex);
	}
	if (!replace) {
		rc = write_new(path, text, bytes);
	} else if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside)) {
		rc = -ENAMETOOLONG;
	} else {
		rc = write_new(beside, text, bytes);
		if (!rc && rename(beside, path)) {
			rc = -errno;
			unlink(beside);
		}
	}
	sodium_memzero(text, sizeof(text));
	sodium_memzero(hex, sizeof(hex));
	return rc;
}

/* Reads "id: N\nsecret: HEX\n" at *at, and moves it on. */
static bool key_read(struct pass_key *key, const char **at)
{
	char hex[HEX_BYTES];
	size_t bytes = 0;
	int used = 0;
	bool good;

	good = sscanf(*at, "id: %10" SCNu32 " secret: %64[0-9a-fA-F]%n", &key->id, hex, &used) ==
		       2 &&
	       !sodium_hex2bin(key->secret, PASS_KEY_BYTES, hex, strlen(hex), NULL, &bytes, NULL) &&
	       bytes == PASS_KEY_BYTES && (*at)[used] == '\n';
	*at += used + 1;
	sodium_memzero(hex, sizeof(hex));
	return good;
}

static const char *parse(struct pass_keys *keys, const char *text)
{
	const char *at = text + strlen(HEAD);

	if (strncmp(text, HEAD, strlen(HEAD)))
		return "not a file of pass keys (swctl pass-key makes one)";
	while (*at) {
		if (keys->count == PASS_KEYS_MAX)
			return "more than two pass keys";
		if (!key_read(&keys->keys[keys->count], &at))
			return "a pass key in it cannot be read";
		keys->count++;
	}
	if (!keys->count)
		return "no pass key in it";
	if (keys->count == 2 && keys->keys[0].id == keys->keys[1].id)
		return "both pass keys have the same number";
	return NULL;
}

int pass_keys_load(struct pass_keys *keys, const char *path, const char **why)
{
	char text[TEXT_BYTES];
	struct stat about;
	size_t bytes;
	FILE *file = fopen(path, "re");

	*why = NULL;
	memset(keys, 0, sizeof(*keys));
	if (!file)
		return -errno;
	if (fstat(fileno(file), &about)) {
		int rc = -errno;

		fclose(file);
		return rc;
	}
	if (about.st_mode & (S_IRWXG | S_IRWXO)) {
		fclose(file);
		*why = "others than its owner may read it; chmod 600 it, and draw new keys";
		return -EACCES;
	}
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = 0;
	*why = parse(keys, text);
	sodium_memzero(text, sizeof(text));
	if (!*why)
		return 0;
	pass_keys_wipe(keys);
	return -EINVAL;
}

void pass_keys_wipe(struct pass_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}
