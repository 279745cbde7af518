/* eal.h: DPDK's environment, started with errors that say what to do. */
#ifndef SW_DATAPLANE_EAL_H
#define SW_DATAPLANE_EAL_H

#include <stdint.h>
#include <stdio.h>

/* Main thread, once, before any port is opened. Looks at what commonly goes wrong (no hugepages
 * left, not root, a second server under the same --file-prefix: it gets 3 s to go), then rte_eal_init(argc, argv).
 * Returns the number of arguments that were EAL's ("program EAL... -- own..."), or -errno after it
 * has said on errors what is wrong and what to do. */
int dp_eal_init(int argc, char **argv, FILE *errors);

/* Main thread, last: gives back hugepages, and the files under /var/run/dpdk. */
void dp_eal_cleanup(void);

/* Says on errors why no port of that name exists: lists those that do, and for a PCI address looks
 * into /sys: driver, IOMMU group. */
void dp_eal_explain_missing(const char *device, FILE *errors);

#endif
