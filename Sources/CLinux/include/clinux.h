#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
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

/// A descriptor of a process, which can be read when the process has ended (pidfd_open(2)); closed in programs that are
/// started.
int linux_process(int number);

/// A timer by the calendar's clock, which tells too when that is set (timerfd_create(2)): its descriptor does not block, and
/// is closed in programs that are started.
int linux_alarm(void);

/// Sets such a timer to a point in time since 1970, or to none where both are 0.
int linux_alarm_set(int alarm, int64_t seconds, int64_t nanoseconds);

/// Takes what such a timer tells: 1 for the time has come, 2 for the clock has been set, 0 for nothing.
int linux_alarm_take(int alarm);

/// A file in memory that holds bytes, to be read from its beginning, and cannot be changed (memfd_create(2)); closed in
/// programs that are started.
int linux_memory(const void *bytes, size_t count);

/// A pipe (pipe(7)), whose reading end is put first and does not block; both are closed in programs that are started.
int linux_pipe(int ends[2]);

/// A socket for echo requests (icmp(7), ping_group_range), of IPv6 if that is not 0. It tells of every error that comes back,
/// does not block, and is closed in programs that are started.
int linux_echo(int is_ipv6);

/// What the system says about a network interface (rtnetlink(7)).
struct linux_link {
    /// Its number, which no other has while it is there; 0 where there is none.
    int number;
    /// Its name, with a terminating zero.
    char name[16];
    /// Whether it has been removed.
    int is_gone;
    /// The flags of netdevice(7).
    unsigned flags;
    /// The state of RFC 2863, from 0: unknown, notpresent, down, lowerlayerdown, testing, dormant, up.
    int state;
    /// The longest packet, in bytes.
    unsigned mtu;
};

/// A socket that tells of every change of an interface. It does not block, and is closed in programs that are started.
int linux_link_watch(void);

/// Takes one message from such a socket; writes at most `capacity` interfaces, and answers how many. `errno` is EAGAIN
/// where there is none, ENOBUFS where some were lost.
int linux_link_receive(int watch, struct linux_link *links, int capacity);

/// Asks for the interface of a name, of at most 15 bytes. Answers 1, 0 where there is none, -1 with `errno`.
int linux_link_find(const char *name, struct linux_link *link);

/// From here on, until `linux_journal_end`, this thread may read from files of the journal that are mapped while another process
/// makes them shorter, or the disk cannot read them: what is not there is read as zeros, instead of ending the process by SIGBUS.
/// Only mappings of files whose name is one of the journal's (`.journal`, `.journal~`) are meant; whatever else raises that signal
/// is answered as it was before the first of these calls. Who handles it from later on has to call the handler that was there.
void linux_journal_begin(void);

/// Ends that; it has to be called as often as the beginning.
void linux_journal_end(void);

/// How often this thread has read a page that is not there. If that has become more, nothing that was read meanwhile may be believed.
/// What was read as zeros once goes on to be zeros, and is not counted again: the journal has to be opened anew.
unsigned long linux_journal_faults(void);

#endif
