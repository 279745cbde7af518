#include "control/admission/ticket_key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define HEAD "stormweir-ticket-key-1\n"

void ticket_key_new(struct ticket_key *key, uint32_t id)
{
	key->id = id;
	crypto_sign_keypair(key->public_key, key->secret_key);
}

int ticket_key_save(const struct ticket_key *key, const char *path)
{
	char text[256], hex[2 * TICKET_SECRET_KEY_BYTES + 1];
	int fd, length, rc = 0;

	sodium_bin2hex(hex, sizeof(hex), key->secret_key, sizeof(key->secret_key));
	length = snprintf(
		text, sizeof(text), HEAD "id: %" PRIu32 "\nsecret_key: %s\n", key->id, hex);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)length) != length)
		rc = -EIO;
	if (close(fd) && !rc)
		rc = -errno;
	if (rc)
		unlink(path);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(hex, sizeof(hex));
	return rc;
}

int ticket_key_load(struct ticket_key *key, const char *path, const char **why)
{
	char text[256], hex[2 * TICKET_SECRET_KEY_BYTES + 1];
	uint8_t seed[crypto_sign_SEEDBYTES], again[TICKET_SECRET_KEY_BYTES];
	size_t bytes;
	FILE *file = fopen(path, "re");
	int rc = -EINVAL;

	*why = NULL;
	if (!file)
		return -errno;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = 0;
	*why = "not a ticket key file (swctl ticket-key makes one)";
	if (strncmp(text, HEAD, strlen(HEAD)) ||
		sscanf(text + strlen(HEAD), "id: %" SCNu32 " secret_key: %128[0-9a-fA-F]", &key->id,
			hex) != 2)
		goto out;
	if (sodium_hex2bin(key->secret_key, sizeof(key->secret_key), hex, strlen(hex), NULL, &bytes,
		    NULL) ||
		bytes != sizeof(key->secret_key))
		goto out;
	*why = "the secret key is damaged";
	crypto_sign_ed25519_sk_to_seed(seed, key->secret_key);
	crypto_sign_seed_keypair(key->public_key, again, seed);
	if (memcmp(again, key->secret_key, sizeof(again)))
		goto out;
	*why = NULL;
	rc = 0;
out:
	sodium_memzero(text, sizeof(text));
	sodium_memzero(hex, sizeof(hex));
	return rc;
}

void ticket_key_print_yaml(const struct ticket_key *key, FILE *out)
{
	char hex[2 * sizeof(key->public_key) + 1];

	sodium_bin2hex(hex, sizeof(hex), key->public_key, sizeof(key->public_key));
	fprintf(out,
		"admission:\n  ticket_keys:\n    - id: %" PRIu32 "\n      public_key: \"%s\"\n",
		key->id, hex);
}
