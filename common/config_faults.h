/* config_faults: collects what is wrong with a configuration, so that all of it is said at once, in
 * the order of the lines. Set-up thread and tools. */
#ifndef SW_COMMON_CONFIG_FAULTS_H
#define SW_COMMON_CONFIG_FAULTS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_FAULTS_MAX 200u /* printed; more are counted */

struct config_fault {
	uint32_t line; /* from 1 */
	char *text;    /* key: what is wrong, what is allowed */
};

struct config_faults {
	uint32_t count; /* may pass CONFIG_FAULTS_MAX */
	struct config_fault fault[CONFIG_FAULTS_MAX];
};

void config_fault_add(struct config_faults *faults, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes one line per fault and frees their texts. */
void config_faults_print(struct config_faults *faults, const char *path, FILE *out);

#endif
