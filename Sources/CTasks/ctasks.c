#define _GNU_SOURCE
#include "ctasks.h"

#include <stddef.h>
#include <time.h>

// Declared in ConcurrencyHooks.def and Concurrency.h of Swift's runtime, which exports them for C++ only. They have Swift's calling
// convention. A SerialExecutorRef is two words, both 0 for no executor.
#define SWIFT __attribute__((swiftcall))

typedef SWIFT void (*original_soon)(void *job);
typedef SWIFT void (*original_delay)(unsigned long long nanoseconds, void *job);
typedef SWIFT void (*original_deadline)(long long seconds, long long nanoseconds, long long tolerance_seconds,
                                        long long tolerance_nanoseconds, int clock, void *job);

extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, original_soon original);
extern SWIFT void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long nanoseconds, void *job, original_delay original);
extern SWIFT void (*swift_task_enqueueGlobalWithDeadline_hook)(long long seconds, long long nanoseconds,
                                                               long long tolerance_seconds, long long tolerance_nanoseconds,
                                                               int clock, void *job, original_deadline original);
extern SWIFT void swift_job_run(void *job, void *identity, uintptr_t implementation);

// The number of the clock in Swift's Clock.h that does not count while the machine sleeps. Nothing of the daemon uses it; such a task
// would wake early after the machine has slept. The other clocks count then.
#define SUSPENDING 2

#define SECOND 1000000000LL

static tasks_soon soon;
static tasks_later later;

static SWIFT void enqueue(void *job, original_soon original) {
    (void)original;
    soon(job);
}

static SWIFT void enqueue_with_delay(unsigned long long nanoseconds, void *job, original_delay original) {
    (void)original;
    later(job, nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds);
}

static SWIFT void enqueue_with_deadline(long long seconds, long long nanoseconds, long long tolerance_seconds,
                                        long long tolerance_nanoseconds, int clock, void *job, original_deadline original) {
    (void)tolerance_seconds, (void)tolerance_nanoseconds, (void)original;
    struct timespec now = {0};
    clock_gettime(clock == SUSPENDING ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &now);
    long long left = seconds - (long long)now.tv_sec;
    // A task that sleeps for longer than 100 years sleeps that long.
    long long most = 100LL * 366 * 24 * 60 * 60;
    if (left > most) left = most;
    if (left < -1) left = -1;
    long long total = left * SECOND + nanoseconds - now.tv_nsec;
    later(job, total > 0 ? total : 0);
}

void tasks_take_over(tasks_soon first, tasks_later second) {
    soon = first;
    later = second;
    swift_task_enqueueGlobal_hook = enqueue;
    swift_task_enqueueGlobalWithDelay_hook = enqueue_with_delay;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_with_deadline;
}

void tasks_run(void *job) {
    swift_job_run(job, NULL, 0);
}
