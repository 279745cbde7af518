/* stormweir-bot: many players in one process, on the client library. See --help. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

#include "client/bot/bot.h"
#include "client/bot/report.h"
#include "client/bot/show.h"
#include "common/mono.h"

#define LEAVE_NS       (7 * NS_PER_S) /* a little more than the library gives a leave */
#define SHOW_NS        (100 * NS_PER_MS)
#define LOOK_NS        (250 * NS_PER_MS)
#define READY_MAX      256
#define FAILURES_SHOWN 10

static volatile sig_atomic_t interrupted, stand_still;

static void on_signal(int signal_number)
{
	if (signal_number == SIGUSR1)
		stand_still = 1;
	else
		interrupted++; /* a second one does not wait for good-byes */
}

struct crowd {
	struct options options;
	struct maps maps;
	struct ticket *tickets;
	struct bot *bots;
	FILE *journal; /* NULL without */
	uint32_t opened;
	int epoll;
	uint64_t start_ns, progress_ns, show_ns, leave_ns; /* leave_ns: 0 until all are to leave */
	uint64_t look_ns;                                  /* --until-well: looked at next */
	uint64_t updates_before;
};

static int watch(struct crowd *crowd, struct bot *bot)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = bot}};

	return epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, swc_fd(bot->client), &event) ? -errno : 0;
}

static int failed(const struct bot *bot, int error)
{
	fprintf(stderr, "stormweir-bot: bot %u: %s\n", bot->index, strerror(-error));
	return error;
}

static int open_due(struct crowd *crowd, uint64_t now_ns)
{
	uint64_t due = 1 + (now_ns - crowd->start_ns) * crowd->options.connects_per_s / NS_PER_S;

	while (crowd->opened < crowd->options.bots && crowd->opened < due) {
		struct bot *bot = &crowd->bots[crowd->opened];
		int error;

		bot_init(bot, crowd->opened, &crowd->options, &crowd->maps,
			&crowd->tickets[crowd->opened], crowd->journal);
		error = bot_connect(bot);
		if (!error)
			error = watch(crowd, bot);
		if (error)
			return failed(bot, error);
		crowd->opened++;
	}
	return 0;
}

/* Those who come again. */
static int open_again(struct crowd *crowd, uint64_t now_ns)
{
	for (uint32_t i = 0; i < crowd->opened; i++) {
		struct bot *bot = &crowd->bots[i];
		int came = comeback_due(bot, now_ns);

		if (came > 0)
			came = watch(crowd, bot);
		if (came < 0)
			return failed(bot, came);
	}
	return 0;
}

/* Waits for a socket or for the first bot that has something to do; marks the ready ones. */
static void wait_for_work(struct crowd *crowd, uint64_t now_ns)
{
	struct epoll_event ready[READY_MAX];
	uint64_t due_ns = now_ns + 20 * NS_PER_MS;
	int count;

	for (uint32_t i = 0; i < crowd->opened; i++) {
		uint64_t bot_ns = bot_due_ns(&crowd->bots[i]);

		if (bot_ns < due_ns)
			due_ns = bot_ns;
	}
	count = epoll_wait(crowd->epoll, ready, READY_MAX,
		due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) + 1 : 0);
	for (int i = 0; i < count; i++)
		((struct bot *)ready[i].data.ptr)->ready = true;
}

static void show_progress(struct crowd *crowd, uint64_t now_ns)
{
	struct totals totals;

	report_totals(crowd->bots, crowd->opened, &totals);
	fprintf(stderr,
		"\r%4llu s  playing %u of %u, waiting %u (%u s), closed %u  updates/s %llu  came "
		"%llu  went %llu  "
		"lost "
		"%llu  corrected %llu  rtt %llu ms \033[K",
		(unsigned long long)((now_ns - crowd->start_ns) / NS_PER_S), totals.playing,
		crowd->options.bots, totals.queued, (totals.longest_wait_ms + 999) / 1000,
		totals.closed, (unsigned long long)(totals.updates - crowd->updates_before),
		(unsigned long long)totals.enters, (unsigned long long)totals.leaves,
		(unsigned long long)totals.reliable_lost, (unsigned long long)totals.corrections,
		(unsigned long long)(totals.connected ? totals.rtt_ms_sum / totals.connected : 0));
	crowd->updates_before = totals.updates;
}

static bool step_all(struct crowd *crowd, uint64_t now_ns)
{
	const struct options *options = &crowd->options;
	uint64_t age_ns = now_ns - crowd->start_ns;
	bool walk = !options->still && !stand_still &&
		    (!options->run_ns || age_ns + options->stand_still_last_ns < options->run_ns);
	bool all_closed = crowd->opened == options->bots;

	for (uint32_t i = 0; i < crowd->opened; i++) {
		struct bot *bot = &crowd->bots[i];

		if (bot->ready || now_ns >= bot_due_ns(bot))
			bot_step(bot, now_ns, walk);
		/* A closed client's socket stays readable if someone still writes to it. */
		if (bot->ready && bot->closed && bot->client)
			epoll_ctl(crowd->epoll, EPOLL_CTL_DEL, swc_fd(bot->client), NULL);
		if (bot->ready && bot->comeback.old && bot->comeback.old_mute)
			epoll_ctl(crowd->epoll, EPOLL_CTL_DEL, swc_fd(bot->comeback.old), NULL);
		bot->ready = false;
		all_closed = all_closed && bot->closed && !bot->comeback.again_ns;
	}
	return all_closed;
}

/* One by one, so that the others see it. */
static void leave_due(struct crowd *crowd, uint64_t now_ns)
{
	const struct options *options = &crowd->options;
	uint64_t over_ns = options->leave_over_ns;
	uint64_t first_ns = crowd->start_ns + options->run_ns - over_ns;

	if (options->run_ns <= over_ns || now_ns < first_ns)
		return;
	for (uint32_t i = 0; i < crowd->opened; i++) {
		if (now_ns >= first_ns + over_ns * i / options->bots)
			comeback_leave(&crowd->bots[i]);
	}
}

/* What all together were to see and do. Says what is missing, if out is not NULL. */
static bool enough(const struct options *options, const struct totals *totals, FILE *out)
{
	const struct {
		uint64_t count, expected;
		const char *text;
	} rows[] = {
		{totals->leaves, options->expect_leaves, "leaves were seen"},
		{totals->parties, options->expect_parties, "times a bot came into a party"},
		{totals->trades, options->expect_trades, "trades were carried out"},
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].count >= rows[i].expected)
			continue;
		good = false;
		if (out)
			fprintf(out, "stormweir-bot: %llu %s, %llu expected\n",
				(unsigned long long)rows[i].count, rows[i].text,
				(unsigned long long)rows[i].expected);
	}
	return good;
}

static bool all_well(const struct crowd *crowd)
{
	struct totals totals;
	char why[256];

	for (uint32_t i = 0; i < crowd->opened; i++)
		if (!bot_well(&crowd->bots[i], why, sizeof(why)))
			return false;
	report_totals(crowd->bots, crowd->opened, &totals);
	return crowd->opened == crowd->options.bots && enough(&crowd->options, &totals, NULL);
}

/* All that is expected has come: the end is as far away as standing still and leaving take. */
static void look_whether_well(struct crowd *crowd, uint64_t now_ns)
{
	struct options *options = &crowd->options;
	uint64_t rest_ns = options->stand_still_last_ns > options->leave_over_ns
				   ? options->stand_still_last_ns
				   : options->leave_over_ns;
	uint64_t run_ns = now_ns - crowd->start_ns + rest_ns;

	if (now_ns < crowd->look_ns)
		return;
	crowd->look_ns = now_ns + LOOK_NS;
	if (!all_well(crowd))
		return;
	options->until_well = false;
	if (!options->run_ns || options->run_ns > run_ns)
		options->run_ns = run_ns;
}

static int run(struct crowd *crowd)
{
	const struct options *options = &crowd->options;
	bool progress = isatty(STDERR_FILENO) && !options->show;
	bool terminal = isatty(STDOUT_FILENO);

	crowd->start_ns = mono_ns();
	if (options->show && terminal)
		fputs("\033[2J", stdout);
	for (;;) {
		uint64_t now_ns = mono_ns();
		int error = crowd->leave_ns ? 0 : open_due(crowd, now_ns);

		if (!error && !crowd->leave_ns)
			error = open_again(crowd, now_ns);
		if (error)
			return error;
		if (step_all(crowd, now_ns))
			break;
		if (options->until_well && !crowd->leave_ns)
			look_whether_well(crowd, now_ns);
		if (options->leave_over_ns && !crowd->leave_ns)
			leave_due(crowd, now_ns);
		if (!crowd->leave_ns &&
			(interrupted ||
				(options->run_ns && now_ns >= crowd->start_ns + options->run_ns))) {
			crowd->leave_ns = now_ns;
			for (uint32_t i = 0; i < crowd->opened; i++)
				comeback_leave(&crowd->bots[i]);
		}
		if (crowd->leave_ns && (now_ns >= crowd->leave_ns + LEAVE_NS || interrupted > 1))
			break;
		if (progress && now_ns >= crowd->progress_ns) {
			crowd->progress_ns = now_ns + NS_PER_S;
			show_progress(crowd, now_ns);
		}
		if (options->show && !crowd->leave_ns && now_ns >= crowd->show_ns) {
			crowd->show_ns = now_ns + (terminal ? SHOW_NS : NS_PER_S);
			show_frame(stdout, &crowd->bots[0], terminal);
		}
		wait_for_work(crowd, now_ns);
	}
	if (progress)
		fputc('\n', stderr);
	return 0;
}

static bool judge(struct crowd *crowd)
{
	const struct options *options = &crowd->options;
	struct totals totals;
	uint32_t shown = 0;
	bool well = true;
	char why[256];

	if (options->expect_positions) {
		int differ = report_compare(options->expect_positions, crowd->bots, options->bots);

		if (differ < 0)
			return false;
		printf("%u of %u joined where they were last\n", options->bots - (uint32_t)differ,
			options->bots);
	}
	for (uint32_t i = 0; i < options->bots; i++) {
		struct bot *bot = &crowd->bots[i];

		bot->options = options; /* also those whose turn never came */
		bot->index = i;
		if (bot_well(bot, why, sizeof(why)))
			continue;
		well = false;
		if (shown++ < FAILURES_SHOWN) {
			fprintf(stderr, "stormweir-bot: bot %u (character %llu) ", i,
				(unsigned long long)(bot->client
							     ? swc_self(bot->client)->character_id
							     : 0));
			show_text(stderr, why);
			fputc('\n', stderr);
		}
	}
	if (shown > FAILURES_SHOWN)
		fprintf(stderr, "stormweir-bot: … and %u more\n", shown - FAILURES_SHOWN);
	report_totals(crowd->bots, options->bots, &totals);
	well &= enough(options, &totals, stderr);
	if (options->click && crowd->bots[0].has_dialogue) {
		printf("%s says: ", options->click);
		show_text(stdout, crowd->bots[0].dialogue);
		putchar('\n');
	}
	printf("%u bots: %u well, %u connected, %u joined, %u refused; %llu updates, %llu came, "
	       "%llu "
	       "went, %llu reliable lost, %llu corrected\n",
		totals.bots, totals.well, totals.connected, totals.joined, totals.refused,
		(unsigned long long)totals.updates, (unsigned long long)totals.enters,
		(unsigned long long)totals.leaves, (unsigned long long)totals.reliable_lost,
		(unsigned long long)totals.corrections);
	return well;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct crowd crowd = {.epoll = -1};
	struct rlimit files;
	int status = options_parse(&crowd.options, argc, argv);
	bool well = false;

	if (status)
		return status > 0 ? 0 : 2;
	if (sodium_init() < 0)
		return 2;
	if (!maps_load(&crowd.maps, crowd.options.maps)) {
		maps_free(&crowd.maps);
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	if (!getrlimit(RLIMIT_NOFILE, &files)) { /* one socket a bot */
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	crowd.tickets = tickets_load(crowd.options.tickets, crowd.options.first_ticket,
		(uint64_t)crowd.options.bots * (1 + crowd.options.returns));
	crowd.bots = calloc(crowd.options.bots, sizeof(*crowd.bots));
	crowd.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (crowd.options.journal) {
		crowd.journal = fopen(crowd.options.journal, "we");
		if (!crowd.journal) {
			fprintf(stderr, "stormweir-bot: %s: %s\n", crowd.options.journal,
				strerror(errno));
			return 2;
		}
		setvbuf(crowd.journal, NULL, _IOLBF, 1 << 16);
	}
	if (!crowd.tickets || !crowd.bots || crowd.epoll < 0) {
		free(crowd.tickets);
		free(crowd.bots);
		return 2;
	}
	if (!run(&crowd)) {
		well = judge(&crowd);
		if (crowd.options.report) {
			status = report_write(crowd.options.report, crowd.bots, crowd.options.bots);
			if (status) {
				fprintf(stderr, "stormweir-bot: %s: %s\n", crowd.options.report,
					strerror(-status));
				well = false;
			}
		}
	}
	for (uint32_t i = 0; i < crowd.opened; i++)
		comeback_close(&crowd.bots[i]);
	if (crowd.journal && fclose(crowd.journal))
		well = false;
	maps_free(&crowd.maps);
	close(crowd.epoll);
	free(crowd.bots);
	free(crowd.tickets);
	return well ? 0 : 1;
}
