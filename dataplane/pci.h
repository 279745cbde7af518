/* pci.h: why EAL has not taken a PCI function, in sentences that say what to do. Main thread, at
 * set-up.
 *
 * What it looks at is sysfs: whether the function is there, its driver, its IOMMU group
 * (Documentation/driver-api/vfio.rst). */
#ifndef SW_DATAPLANE_PCI_H
#define SW_DATAPLANE_PCI_H

#include <stdbool.h>
#include <stdio.h>

/* "0000:3b:02.0" */
bool dp_pci_is_address(const char *device);

/* Lines on errors, each indented by two. sys: "/sys", or what a test has made in its place. */
void dp_pci_explain(const char *sys, const char *device, FILE *errors);

#endif
