#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "dataplane/eal.h"
#include "dataplane/pci.h"

static long read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long value = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%ld", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* Sums <name> over all page sizes. */
static long hugepages(const char *name)
{
	DIR *folder = opendir("/sys/kernel/mm/hugepages");
	struct dirent *entry;
	long sum = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder))) {
		char path[512];

		if (strncmp(entry->d_name, "hugepages-", 10))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/%s", entry->d_name, name);
		sum += read_number(path);
	}
	closedir(folder);
	return sum;
}

static bool hugetlbfs_is_mounted(void)
{
	FILE *file = fopen("/proc/mounts", "r");
	char line[1024];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " hugetlbfs ") != NULL;
	if (file)
		fclose(file);
	return found;
}

/* Files that a killed run leaves behind hold their pages. */
static int hugepage_leftovers(void)
{
	DIR *folder = opendir("/dev/hugepages");
	struct dirent *entry;
	int count = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		count += strstr(entry->d_name, "map_") != NULL;
	closedir(folder);
	return count;
}

static bool has_argument(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

/* The value of --name=value or --name value; NULL when it is not given. */
static const char *argument(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
		if (!strcmp(argv[i], name) && i + 1 < argc)
			return argv[i + 1];
	}
	return NULL;
}

/* The process that runs under this prefix already: it holds EAL's lock. 0: none, or not known. */
static pid_t prefix_owner(const char *prefix)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "/var/run/dpdk/%s/config", prefix);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	close(fd);
	return lock.l_pid;
}

static int explain_hugepages(FILE *errors)
{
	long total = hugepages("nr_hugepages");
	int left = hugepage_leftovers();

	if (total == 0)
		fprintf(errors, "eal: this machine has no hugepages. Reserve some (sysctl "
				"vm.nr_hugepages=512), or run without: --no-huge -m 256\n");
	else if (left)
		fprintf(errors,
			"eal: all %ld hugepages are taken, and /dev/hugepages holds %d files of "
			"running or killed DPDK programs. Remove those of killed ones (rm "
			"/dev/hugepages/*map_*), reserve more, or run with --no-huge -m 256\n",
			total, left);
	else
		fprintf(errors,
			"eal: all %ld hugepages are taken by others. Reserve more (sysctl "
			"vm.nr_hugepages), or run with --no-huge -m 256\n",
			total);
	return -ENOMEM;
}

static void explain_eal(int error, FILE *errors)
{
	switch (error) {
	case EACCES:
	case EPERM:
		fprintf(errors, "eal: not permitted, or hugepages cannot be used: run as root, or "
				"give the user /dev/hugepages, /dev/vfio and CAP_NET_RAW\n");
		break;
	case EAGAIN:
	case EEXIST:
		fprintf(errors, "eal: another DPDK program runs under the same --file-prefix; give "
				"each its own\n");
		break;
	case EALREADY:
		fprintf(errors, "eal: started twice in one process\n");
		break;
	case ENOMEM:
		fprintf(errors, "eal: not enough memory: lower -m, or reserve more hugepages\n");
		break;
	case ENOEXEC:
		fprintf(errors, "eal: a service core could not be started\n");
		break;
	case ENODEV:
		fprintf(errors, "eal: a device of the command line could not be opened (the lines "
				"above name it): see --vdev and -a\n");
		break;
	case EINVAL:
		fprintf(errors,
			"eal: an argument before \"--\" is wrong (the lines above name it). "
			"With hugepages and as root IOVA is PA, without root VA: force one with "
			"--iova-mode=va. --no-huge does not go with --in-memory\n");
		break;
	default:
		fprintf(errors,
			"eal: start failed: %s. Is another DPDK program running under this "
			"--file-prefix? Is a VFIO group not viable (all its functions must be "
			"bound to vfio-pci)?\n",
			rte_strerror(error));
	}
}

/* A process that was killed a moment ago holds its lock until the kernel has taken its memory
 * apart, and whoever restarts it at once should not be refused for that. */
static pid_t prefix_owner_that_stays(const char *prefix)
{
	const struct timespec look = {.tv_nsec = 50000000};
	pid_t owner = prefix_owner(prefix);

	for (int i = 0; owner && i < 60; i++) {
		nanosleep(&look, NULL);
		owner = prefix_owner(prefix);
	}
	return owner;
}

int dp_eal_init(int argc, char **argv, FILE *errors)
{
	const char *prefix = argument(argc, argv, "--file-prefix");
	pid_t owner = prefix_owner_that_stays(prefix ? prefix : "rte");
	int used;

	if (owner) {
		fprintf(errors,
			"eal: process %d runs under the file prefix \"%s\" already: stop it, or "
			"give this "
			"one its own with --file-prefix\n",
			(int)owner, prefix ? prefix : "rte");
		return -EAGAIN;
	}
	if (!has_argument(argc, argv, "--no-huge")) {
		if (hugepages("free_hugepages") == 0)
			return explain_hugepages(errors);
		if (!has_argument(argc, argv, "--in-memory") && !hugetlbfs_is_mounted()) {
			fprintf(errors,
				"eal: hugepages are reserved, but no hugetlbfs is mounted: mount "
				"-t hugetlbfs none /dev/hugepages, or run with --no-huge -m 256\n");
			return -ENOENT;
		}
	}
	rte_errno = 0;
	used = rte_eal_init(argc, argv);
	if (used < 0) {
		int error = rte_errno > 0 ? rte_errno : EIO;

		explain_eal(error, errors);
		return -error;
	}
	return used;
}

void dp_eal_cleanup(void)
{
	char path[512];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	/* EAL leaves its files (config, sockets) and their folder under /var/run/dpdk for secondary
	 * processes, which have no primary now. */
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(path);
}

void dp_eal_explain_missing(const char *device, FILE *errors)
{
	uint16_t id;
	int count = 0;

	fprintf(errors, "port %s: EAL knows no such port. It has:", device);
	RTE_ETH_FOREACH_DEV(id)
	{
		char name[RTE_ETH_NAME_MAX_LEN];

		if (!rte_eth_dev_get_name_by_port(id, name))
			fprintf(errors, " %s", name);
		count++;
	}
	fprintf(errors, count ? "\n" : " none\n");
	if (dp_pci_is_address(device))
		dp_pci_explain("/sys", device, errors);
	else
		fprintf(errors,
			"  a virtual port is made by an EAL argument before \"--\", e.g. "
			"--vdev=%s,iface=<veth>; if it was given, EAL's lines above say why it "
			"could "
			"not be made (no such interface, another XDP program on it, no "
			"permission)\n",
			device);
}
