/* options.h: the command line of stormweir: [EAL options] -- [own options]. Main thread. */
#ifndef SW_MAIN_OPTIONS_H
#define SW_MAIN_OPTIONS_H

struct options {
	const char *config_path;
	int eal_argc; /* arguments before "--", with the program's name */
	char **eal_argv;
};

enum options_result {
	OPTIONS_RUN,  /* go on */
	OPTIONS_DONE, /* --help or --version was printed: exit 0 */
	OPTIONS_WRONG /* said on standard error what is wrong: exit 2 */
};

/* argv is kept and must outlive *out; the "--" is cut off for EAL. --help and --version are known
 * on both sides of it, so that they work without knowing EAL. */
enum options_result options_parse(int argc, char **argv, struct options *out);

#endif
