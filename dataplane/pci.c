#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "dataplane/pci.h"

#define PATH_BYTES   512
#define DRIVER_BYTES 64

bool dp_pci_is_address(const char *device)
{
	unsigned domain, bus, slot, function;
	char end;

	return device[strspn(device, "0123456789abcdefABCDEF:.")] == 0 &&
	       sscanf(device, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &end) == 4;
}

static bool is_there(const char *sys, const char *path)
{
	char full[2 * PATH_BYTES];

	snprintf(full, sizeof(full), "%s/%s", sys, path);
	return !access(full, F_OK);
}

/* "none" where it has none. */
static void driver_of(const char *sys, const char *device, char driver[DRIVER_BYTES])
{
	char path[PATH_BYTES], target[PATH_BYTES];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", sys, device);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	name = strrchr(target, '/');
	snprintf(driver, DRIVER_BYTES, "%.63s", n <= 0 ? "none" : name ? name + 1 : target);
}

/* Drivers that leave a group viable (drivers/vfio/vfio_main.c, vfio_dev_driver_allowed). */
static bool keeps_group(const char *driver)
{
	return !strcmp(driver, "none") || !strcmp(driver, "vfio-pci") ||
	       !strcmp(driver, "pci-stub") || !strcmp(driver, "pcieport");
}

/* Functions of the same group that a kernel driver has. Returns how many, and names them. */
static int explain_group(const char *sys, const char *device, FILE *errors)
{
	char path[PATH_BYTES], driver[DRIVER_BYTES];
	struct dirent *entry;
	DIR *folder;
	int found = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/iommu_group/devices", sys, device);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, device))
			continue;
		driver_of(sys, entry->d_name, driver);
		if (keeps_group(driver))
			continue;
		fprintf(errors,
			"  its VFIO group is not viable: %s is in it and has the driver %s; bind "
			"that one to vfio-pci too, or to none\n",
			entry->d_name, driver);
		found++;
	}
	if (folder)
		closedir(folder);
	return found;
}

static void explain_bound(const char *sys, const char *device, FILE *errors)
{
	char path[PATH_BYTES];

	if (!is_there(sys, "module/vfio_iommu_type1")) {
		fprintf(errors, "  it is bound to vfio-pci, but the kernel's part for the IOMMU is "
				"not loaded: modprobe vfio_iommu_type1\n");
		return;
	}
	snprintf(path, sizeof(path), "bus/pci/devices/%s/iommu_group", device);
	if (!is_there(sys, path)) {
		fprintf(errors, "  it is bound to vfio-pci, but has no IOMMU group: switch the "
				"IOMMU on (firmware; intel_iommu=on or amd_iommu=on for the "
				"kernel)\n");
		return;
	}
	if (explain_group(sys, device, errors))
		return;
	fprintf(errors,
		"  it is bound to vfio-pci, but EAL did not take it: was another device allowed "
		"with -a, or is it in use by another process? EAL's lines above may say more\n");
}

void dp_pci_explain(const char *sys, const char *device, FILE *errors)
{
	char path[PATH_BYTES], driver[DRIVER_BYTES];

	snprintf(path, sizeof(path), "bus/pci/devices/%s", device);
	if (!is_there(sys, path)) {
		fprintf(errors,
			"  no PCI function %s on this machine; for a VF: echo 4 > "
			"/sys/class/net/<pf>/device/sriov_numvfs, then lspci\n",
			device);
		return;
	}
	driver_of(sys, device, driver);
	if (!strcmp(driver, "vfio-pci")) {
		explain_bound(sys, device, errors);
		return;
	}
	fprintf(errors,
		"  it is bound to driver %s; %sdpdk-devbind.py -b vfio-pci %s (mlx5 "
		"stays on its kernel driver)\n",
		driver, is_there(sys, "bus/pci/drivers/vfio-pci") ? "" : "modprobe vfio-pci, then ",
		device);
}
