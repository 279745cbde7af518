#include "common/config_faults.h"

#include <stdlib.h>

void config_fault_add(struct config_faults *faults, uint32_t line, const char *format, ...)
{
	va_list args;
	char *text;

	if (faults->count++ >= CONFIG_FAULTS_MAX)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	faults->fault[faults->count - 1] = (struct config_fault){.line = line, .text = text};
}

void config_faults_print(struct config_faults *faults, const char *path, FILE *out)
{
	uint32_t kept = faults->count < CONFIG_FAULTS_MAX ? faults->count : CONFIG_FAULTS_MAX;

	/* Insertion sort: stable, so faults of one line keep their order. */
	for (uint32_t i = 1; i < kept; i++) {
		struct config_fault moving = faults->fault[i];
		uint32_t to = i;

		for (; to && faults->fault[to - 1].line > moving.line; to--)
			faults->fault[to] = faults->fault[to - 1];
		faults->fault[to] = moving;
	}
	for (uint32_t i = 0; i < kept; i++) {
		fprintf(out, "%s:%u: %s\n", path, faults->fault[i].line,
			faults->fault[i].text ? faults->fault[i].text : "memory is short");
		free(faults->fault[i].text);
	}
	if (faults->count > kept)
		fprintf(out, "%s: and %u faults more\n", path, faults->count - kept);
	faults->count = 0;
}
