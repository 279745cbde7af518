/* Files and JSON texts. */
#include "simulation/ground/tiled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, size_t bytes_max, char **bytes, size_t *count)
{
	struct stat stat;
	size_t room;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return S_ISDIR(stat.st_mode) ? -EISDIR : -ESPIPE;
	if (stat.st_size < 0 || (uint64_t)stat.st_size > bytes_max)
		return -EFBIG;
	room = (size_t)stat.st_size;
	*bytes = malloc(room + 1);
	if (!*bytes)
		return -ENOMEM;
	for (*count = 0; *count < room;) {
		ssize_t got = read(fd, *bytes + *count, room - *count);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(*bytes);
			return -errno;
		}
		if (!got)
			break;
		*count += (size_t)got;
	}
	return 0;
}

int tiled_read(const char *folder, const char *path, size_t bytes_max, char **bytes, size_t *count)
{
	char whole[2 * TILED_PATH_BYTES];
	int fd, status, length;

	length = snprintf(
		whole, sizeof(whole), "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
	if (length < 0 || (size_t)length >= sizeof(whole))
		return -ENAMETOOLONG;
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
	if (fd < 0)
		return -errno;
	status = read_all(fd, bytes_max, bytes, count);
	close(fd);
	return status;
}

json_t *tiled_json(struct tiled *t, const char *file, const char *bytes, size_t count)
{
	const char *shown = t->file;
	json_error_t error;
	json_t *root = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, &error);
	char where[TILED_WHERE_BYTES];

	t->file = file;
	if (!root) {
		snprintf(where, sizeof(where), "line %d, column %d", error.line, error.column);
		tiled_fault(t, where, "%s, allowed is JSON", error.text);
	} else if (!json_is_object(root)) {
		tiled_fault(t, "(root)", "is no object, allowed is what Tiled writes as JSON");
		json_decref(root);
		root = NULL;
	}
	t->file = shown;
	return root;
}
