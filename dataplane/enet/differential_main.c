/* differential_main.c: enet-differential, rounds of differential.h for as long as one likes.
 *   enet-differential [--seconds N] [--seed S] [--rounds N]
 * Without --seconds or --rounds: one round. The exit status says whether all agreed. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dataplane/enet/differential.h"

static double now_s(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void print(const struct differential_total *t, uint64_t next, double seconds)
{
	printf("%.0f s: %llu rounds, next seed %llu: %llu datagrams, %llu messages, %llu lives "
	       "(%llu "
	       "broken by the network), %llu s of network time; %llu disagreements, %llu "
	       "violations "
	       "by stock\n",
		seconds, (unsigned long long)t->rounds, (unsigned long long)next,
		(unsigned long long)t->datagrams, (unsigned long long)t->messages,
		(unsigned long long)t->lives, (unsigned long long)t->broken,
		(unsigned long long)t->virtual_ms / 1000, (unsigned long long)t->disagreements,
		(unsigned long long)t->stock_violations);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'r'}, {"rounds", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0}};
	struct differential_total total = {0};
	const char *text = getenv("SW_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1, rounds = 0;
	double start = now_s(), seconds = 0, told = start;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			seconds = strtod(optarg, NULL);
		else if (option == 'r')
			seed = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			rounds = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	printf("SW_SEED=%llu\n", (unsigned long long)seed);
	do {
		differential_round(seed++, &total);
		if (now_s() - told >= 10) {
			told = now_s();
			print(&total, seed, told - start);
		}
	} while (total.rounds < rounds || now_s() - start < seconds);
	print(&total, seed, now_s() - start);
	return total.disagreements != 0;
}
