#include "main/options.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: stormweir [EAL options] -- --config FILE\n"
	"\n"
	"  --config FILE   the configuration (docs/configuration.md; check one with\n"
	"                  stormweir-config --check FILE)\n"
	"  --help, --version\n"
	"\n"
	"EAL options come before --, for example\n"
	"  stormweir -l 0,1 --vdev net_af_xdp0,iface=veth0,busy_budget=0 -- --config dev.yaml\n"
	"  stormweir -l 0-4 -a 0000:3b:02.0 -- --config /etc/stormweir/node.yaml\n"
	"The main lcore (the first, or --main-lcore) runs the control threads: it must not be one\n"
	"of dataplane.lcores or simulation.lcores.\n";

static enum options_result wrong(const char *what, const char *argument)
{
	fprintf(stderr, "stormweir: %s%s; see stormweir --help\n", what, argument);
	return OPTIONS_WRONG;
}

enum options_result options_parse(int argc, char **argv, struct options *out)
{
	int own = argc;

	memset(out, 0, sizeof(*out));
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(usage, stdout);
			return OPTIONS_DONE;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("stormweir " SW_VERSION);
			return OPTIONS_DONE;
		}
		if (!strcmp(argv[i], "--") && own == argc)
			own = i;
	}
	if (own == argc)
		return wrong("no -- between EAL options and own options", "");
	for (int i = own + 1; i < argc; i++) {
		if (strcmp(argv[i], "--config"))
			return wrong("unknown option ", argv[i]);
		if (i + 1 == argc)
			return wrong("--config wants a file", "");
		out->config_path = argv[++i];
	}
	if (!out->config_path)
		return wrong("--config FILE is missing", "");
	argv[own] = NULL;
	out->eal_argc = own;
	out->eal_argv = argv;
	return OPTIONS_RUN;
}
