#ifndef CTASKS_H
#define CTASKS_H

#include <stdint.h>

// The hooks of Swift's runtime that replace the threads of its tasks, and the one function that runs a job of a task. Swift's own
// threads are those of Dispatch, which creates them when they are needed and waits for ever if the system has none.

/// Receives a job, and must run it once with `tasks_run`, soon or after a number of nanoseconds.
typedef void (*tasks_soon)(void *job);
typedef void (*tasks_later)(void *job, int64_t nanoseconds);

/// Gives all jobs without an executor of their own to two functions from now on. Call it before the first task.
void tasks_take_over(tasks_soon soon, tasks_later later);

/// Runs a job on this thread until its task suspends or ends.
void tasks_run(void *job);

#endif
