#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>

// Calls of Linux that Swift's module of the C library does not have. All answer -1 with `errno` where the system does.

/// Accepts a connection (accept4(2)): its descriptor does not block, and is closed in programs that are started.
int linux_accept(int listener);

/// A queue of events (epoll_create1(2)), closed in programs that are started.
int linux_epoll(void);

/// Has a queue tell once, under the given number, when reading a descriptor would not block (epoll_ctl(2)).
int linux_epoll_add(int queue, int descriptor, uint64_t number);

/// Has a queue tell no more of a descriptor.
int linux_epoll_remove(int queue, int descriptor);

/// Waits until there is something to tell (epoll_wait(2)); writes at most `capacity` numbers, and answers how many.
int linux_epoll_wait(int queue, uint64_t *numbers, int capacity);

#endif
