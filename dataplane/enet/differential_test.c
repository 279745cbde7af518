/* Proves that stock clients see and cause the same with our engine as with a stock libenet host,
 * where the protocol determines it (differential.h). SW_SEED sets the first seed; the number of
 * rounds is the argument. enet-differential does the same for as long as one likes. */
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/enet/differential.h"

int main(int argc, char **argv)
{
	const char *text = getenv("SW_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
	struct differential_total total = {0};

	printf("SW_SEED=%llu\n", (unsigned long long)seed);
	while (total.rounds < rounds)
		differential_round(seed + total.rounds, &total);
	printf("%llu rounds, %llu lives (%llu broken by the network), %llu datagrams, %llu "
	       "messages, "
	       "%llu s of network time; %llu disagreements, %llu violations by stock\n",
		(unsigned long long)total.rounds, (unsigned long long)total.lives,
		(unsigned long long)total.broken, (unsigned long long)total.datagrams,
		(unsigned long long)total.messages, (unsigned long long)total.virtual_ms / 1000,
		(unsigned long long)total.disagreements,
		(unsigned long long)total.stock_violations);
	/* too many broken lives would hide what is compared */
	return total.disagreements != 0 || total.broken * 20 > total.lives;
}
