/* Proves that a PCI function which EAL has not taken is explained by what is wrong with it:
 * missing, with a kernel driver or none, without vfio-pci or the IOMMU's part of VFIO in the
 * kernel, outside any IOMMU group, or in one that another driver holds. On a sysfs of the test's
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "dataplane/pci.h"

#define DEVICE "0000:00:03.0"
#define OTHER  "0000:00:04.0"

static char sys[] = "/tmp/sw_pci_test_XXXXXX";

static void shell(const char *format, ...)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "set -e; cd %s; ", sys);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n, format, arguments);
	va_end(arguments);
	assert_int_equal(system(line), 0);
}

static const struct {
	const char *name, *make; /* in the folder that stands for /sys */
	const char *says, *not_says;
} cases[] = {
	{"not there", "true", "no PCI function " DEVICE, "bound"},
	{"no driver, vfio-pci not loaded", "mkdir -p bus/pci/devices/" DEVICE,
		"bound to driver none; modprobe vfio-pci, then dpdk-devbind.py", "viable"},
	{"no driver", "mkdir -p bus/pci/devices/" DEVICE " bus/pci/drivers/vfio-pci",
		"bound to driver none; dpdk-devbind.py -b vfio-pci " DEVICE, "modprobe"},
	{"a kernel driver",
		"mkdir -p bus/pci/devices/" DEVICE " bus/pci/drivers/{vfio-pci,ixgbevf}; "
		"ln -s ../../drivers/ixgbevf bus/pci/devices/" DEVICE "/driver",
		"bound to driver ixgbevf; dpdk-devbind.py", "modprobe"},
	{"VFIO without its IOMMU part",
		"mkdir -p bus/pci/devices/" DEVICE " bus/pci/drivers/vfio-pci; "
		"ln -s ../../drivers/vfio-pci bus/pci/devices/" DEVICE "/driver",
		"modprobe vfio_iommu_type1", "viable"},
	{"no IOMMU",
		"mkdir -p module/vfio_iommu_type1 bus/pci/devices/" DEVICE
		" bus/pci/drivers/vfio-pci; "
		"ln -s ../../drivers/vfio-pci bus/pci/devices/" DEVICE "/driver",
		"no IOMMU group", "viable"},
	{"a group that another driver holds",
		"mkdir -p module/vfio_iommu_type1 bus/pci/devices/{" DEVICE "," OTHER "} "
		"bus/pci/drivers/{vfio-pci,e1000e} group/devices; "
		"touch group/devices/{" DEVICE "," OTHER "}; "
		"ln -s ../../../../group bus/pci/devices/" DEVICE "/iommu_group; "
		"ln -s ../../drivers/e1000e bus/pci/devices/" OTHER "/driver; "
		"ln -s ../../drivers/vfio-pci bus/pci/devices/" DEVICE "/driver",
		"not viable: " OTHER " is in it and has the driver e1000e", "-a"},
	{"a group with a bridge and one without driver",
		"mkdir -p module/vfio_iommu_type1 bus/pci/devices/{" DEVICE "," OTHER
		",0000:00:01.0} "
		"bus/pci/drivers/{vfio-pci,pcieport} group/devices; "
		"touch group/devices/{" DEVICE "," OTHER ",0000:00:01.0}; "
		"ln -s ../../../../group bus/pci/devices/" DEVICE "/iommu_group; "
		"ln -s ../../drivers/pcieport bus/pci/devices/0000:00:01.0/driver; "
		"ln -s ../../drivers/vfio-pci bus/pci/devices/" DEVICE "/driver",
		"allowed with -a", "viable"},
};

static void each_is_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t bytes;
		FILE *errors = open_memstream(&text, &bytes);

		assert_non_null(mkdtemp(sys));
		shell("bash -c '%s'", cases[i].make);
		dp_pci_explain(sys, DEVICE, errors);
		fclose(errors);
		if (!strstr(text, cases[i].says) || strstr(text, cases[i].not_says))
			fail_msg("%s: %s", cases[i].name, text);
		free(text);
		shell("cd /; rm -r %s", sys);
		memcpy(strrchr(sys, '_') + 1, "XXXXXX", 6);
	}
}

static void addresses(void **state)
{
	(void)state;
	assert_true(dp_pci_is_address("0000:3b:02.0"));
	assert_false(dp_pci_is_address("net_af_xdp0"));
	assert_false(dp_pci_is_address("0000:3b:02.0x"));
	assert_false(dp_pci_is_address("3b:02.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_explained),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests_name("pci", tests, NULL, NULL);
}
