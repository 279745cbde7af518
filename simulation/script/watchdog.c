#include "simulation/script/vm.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/mono.h"

#define SCRIPT_SIGNAL SIGURG

struct script_watchdog {
	pthread_t thread;
	pthread_mutex_t lock; /* of the list; the watchdog and set-up, never a shard */
	pthread_cond_t stop;  /* so that a stop does not wait for a period */
	struct script_vm *vms;
	uint32_t period_us;
	_Atomic bool stopping;
	struct sigaction before;
};

static _Atomic bool in_use;

/* The VM whose handler this thread is running: what the signal handler looks at. */
static _Thread_local struct script_vm *volatile running;

/* On the shard's thread. A signal that comes late, when the handler it was meant for has ended,
 * finds another sequence and does nothing. */
static void on_signal(int number)
{
	struct script_vm *vm = running;

	(void)number;
	if (vm && atomic_load(&vm->overdue) == atomic_load(&vm->sequence)) {
		script_arm(vm);
		counter_add(&vm->values[SCRIPT_COUNT_SIGNALS], 1);
	}
}

void script_vm_budget(struct script_vm *vm, uint32_t budget_us)
{
	atomic_store_explicit(&vm->budget_us, budget_us, memory_order_relaxed);
	atomic_store_explicit(&vm->round,
		atomic_load_explicit(&vm->round, memory_order_relaxed) + 1, memory_order_release);
}

bool script_vm_spent(const struct script_vm *vm)
{
	return atomic_load_explicit(&vm->spent_round, memory_order_relaxed) ==
	       atomic_load_explicit(&vm->round, memory_order_relaxed);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts)) /* the thread has ended */
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* What a look finds running is taken to have run for a period, or for the CPU time since the last
 * look, where that found the same: over many looks it comes out right. */
static void add_up(struct script_vm *vm, uint64_t sequence, uint64_t now_ns, uint64_t period_ns)
{
	struct script_record *record = atomic_load(&vm->record);
	uint64_t round = atomic_load(&vm->round), ran_ns = period_ns;

	if (sequence == vm->watch_sequence && now_ns - vm->watch_seen_ns < period_ns)
		ran_ns = now_ns - vm->watch_seen_ns;
	if (round != vm->watch_round) {
		vm->watch_round = round;
		vm->watch_spent_ns = 0;
	}
	vm->watch_spent_ns += ran_ns;
	if (round && vm->watch_spent_ns >= atomic_load(&vm->budget_us) * 1000ull)
		atomic_store(&vm->spent_round, round);
	counter_add(&vm->values[SCRIPT_COUNT_RAN_US_LOAD + atomic_load(&vm->ran)], ran_ns / 1000);
	if (record)
		counter_add(&record->ran_us, ran_ns / 1000);
}

static void look_at(struct script_vm *vm, uint64_t period_ns)
{
	uint64_t sequence = atomic_load(&vm->sequence), now_ns;

	if (!(sequence & 1))
		return;
	now_ns = clock_ns(atomic_load(&vm->thread_clock));
	add_up(vm, sequence, now_ns, period_ns);
	vm->watch_seen_ns = now_ns;
	if (sequence != vm->watch_sequence) {
		vm->watch_sequence = sequence;
		vm->watch_start_ns = now_ns;
		return;
	}
	if (now_ns < vm->watch_start_ns + atomic_load(&vm->limit_us) * 1000ull)
		return;
	/* Again each period until it has ended. If it ended just now, overdue names the past. */
	atomic_store(&vm->overdue, sequence);
	syscall(SYS_tgkill, getpid(), atomic_load(&vm->thread_id), SCRIPT_SIGNAL);
}

static void *watch(void *context)
{
	struct script_watchdog *watchdog = context;

	pthread_setname_np(pthread_self(), "sw-scriptwatch");
	pthread_mutex_lock(&watchdog->lock);
	while (!atomic_load(&watchdog->stopping)) {
		uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + watchdog->period_us * 1000ull;
		struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
			.tv_nsec = (long)(until_ns % NS_PER_S)};

		while (!atomic_load(&watchdog->stopping) &&
			!pthread_cond_timedwait(&watchdog->stop, &watchdog->lock, &until))
			;
		for (struct script_vm *vm = watchdog->vms; vm; vm = vm->watch_next)
			look_at(vm, watchdog->period_us * 1000ull);
	}
	pthread_mutex_unlock(&watchdog->lock);
	return NULL;
}

int script_watchdog_start(struct script_watchdog **out, uint32_t period_us)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct script_watchdog *watchdog;
	pthread_condattr_t monotonic;
	sigset_t all, old;
	bool free_before = false;
	int error;

	if (!atomic_compare_exchange_strong(&in_use, &free_before, true))
		return -EBUSY;
	watchdog = calloc(1, sizeof(*watchdog));
	if (!watchdog) {
		atomic_store(&in_use, false);
		return -ENOMEM;
	}
	watchdog->period_us = period_us;
	pthread_mutex_init(&watchdog->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watchdog->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigemptyset(&action.sa_mask);
	sigaction(SCRIPT_SIGNAL, &action, &watchdog->before);
	sigfillset(&all); /* the watchdog takes no signal */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&watchdog->thread, NULL, watch, watchdog);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error) {
		sigaction(SCRIPT_SIGNAL, &watchdog->before, NULL);
		pthread_cond_destroy(&watchdog->stop);
		pthread_mutex_destroy(&watchdog->lock);
		free(watchdog);
		atomic_store(&in_use, false);
		return -error;
	}
	*out = watchdog;
	return 0;
}

void script_watchdog_stop(struct script_watchdog *watchdog)
{
	CHECK(!watchdog->vms);
	pthread_mutex_lock(&watchdog->lock);
	atomic_store(&watchdog->stopping, true);
	pthread_cond_signal(&watchdog->stop);
	pthread_mutex_unlock(&watchdog->lock);
	pthread_join(watchdog->thread, NULL);
	/* Ignored rather than restored: a last signal may still be on its way. */
	signal(SCRIPT_SIGNAL, SIG_IGN);
	pthread_cond_destroy(&watchdog->stop);
	pthread_mutex_destroy(&watchdog->lock);
	free(watchdog);
	atomic_store(&in_use, false);
}

void script_watchdog_add(struct script_watchdog *watchdog, struct script_vm *vm)
{
	pthread_mutex_lock(&watchdog->lock);
	vm->watch_next = watchdog->vms;
	watchdog->vms = vm;
	pthread_mutex_unlock(&watchdog->lock);
}

void script_watchdog_remove(struct script_watchdog *watchdog, struct script_vm *vm)
{
	pthread_mutex_lock(&watchdog->lock);
	for (struct script_vm **at = &watchdog->vms; *at; at = &(*at)->watch_next)
		if (*at == vm) {
			*at = vm->watch_next;
			break;
		}
	pthread_mutex_unlock(&watchdog->lock);
}

void script_owner_here(struct script_owner *owner)
{
	sigset_t set;

	CHECK(pthread_getcpuclockid(pthread_self(), &owner->clock) == 0);
	owner->thread_id = gettid();
	sigemptyset(&set);
	sigaddset(&set, SCRIPT_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void script_vm_own_as(struct script_vm *vm, const struct script_owner *owner)
{
	atomic_store(&vm->thread_clock, owner->clock);
	atomic_store(&vm->thread_id, owner->thread_id);
}

void script_vm_own(struct script_vm *vm)
{
	struct script_owner owner;

	script_owner_here(&owner);
	script_vm_own_as(vm, &owner);
}

void script_watch_begin(struct script_vm *vm, enum script_context context, uint32_t limit_us)
{
	uint32_t used = vm->arena.used_bytes, soft = vm->config.memory_bytes / 4 * 3;

	CHECK(!running); /* the host must not call back into a VM */
	vm->context = context;
	vm->ending = SCRIPT_OK;
	vm->error_bytes = 0;
	vm->error[0] = '\0';
	vm->refused = SCRIPT_OK;
	vm->refused_block = NULL;
	vm->refused_bytes = 0;
	if (used + SCRIPT_ALLOWANCE_BYTES > soft)
		soft = used + SCRIPT_ALLOWANCE_BYTES;
	/* Not anew with each slice. */
	if (vm->job && vm->job->slices)
		soft = vm->job->soft_bytes;
	else if (vm->job)
		vm->job->soft_bytes = soft;
	vm->soft_bytes = soft;
	atomic_store_explicit(&vm->limit_us, limit_us, memory_order_relaxed);
	atomic_store_explicit(&vm->ran, context, memory_order_relaxed);
	atomic_store_explicit(&vm->record, vm->job ? vm->job->record : NULL, memory_order_relaxed);
	running = vm;
	atomic_store_explicit(&vm->sequence,
		atomic_load_explicit(&vm->sequence, memory_order_relaxed) + 1,
		memory_order_release);
}

/* First the sequence, then the hook: a signal in between finds an even one and sets nothing. */
void script_watch_end(struct script_vm *vm)
{
	atomic_store_explicit(&vm->sequence,
		atomic_load_explicit(&vm->sequence, memory_order_relaxed) + 1,
		memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	running = NULL;
	if (vm->armed)
		script_disarm(vm);
	vm->soft_bytes = UINT32_MAX;
}
