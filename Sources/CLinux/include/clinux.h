#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>

// Linux calls that Swift's module of the C library does not have. If the system call fails, they return -1 and set `errno`.

/// Accepts a connection (accept4(2)). Its descriptor is non-blocking and close-on-exec.
int linux_accept(int listener);

/// Creates a queue of events (epoll_create1(2)), close-on-exec.
int linux_epoll(void);

/// Requests one event, with the given number, when reading a descriptor would not block (epoll_ctl(2)).
int linux_epoll_add(int queue, int descriptor, uint64_t number);

/// Removes a descriptor from a queue.
int linux_epoll_remove(int queue, int descriptor);

/// Waits for events (epoll_wait(2)). Writes at most `capacity` numbers, and returns their count.
int linux_epoll_wait(int queue, uint64_t *numbers, int capacity);

/// Opens a descriptor of a process (pidfd_open(2)), close-on-exec. It becomes readable when the process has ended.
int linux_process(int number);

/// Sends a signal to the process of such a descriptor (pidfd_send_signal(2)).
int linux_process_signal(int process, int signal);

/// Creates a timer on the calendar's clock that also reports when the clock is set (timerfd_create(2)). Its descriptor is
/// non-blocking and close-on-exec.
int linux_alarm(void);

/// Sets such a timer to a point in time since 1970, or disarms it if both numbers are 0.
int linux_alarm_set(int alarm, int64_t seconds, int64_t nanoseconds);

/// Reads such a timer. Returns 1 if the time has come, 2 if the clock was set, 0 for neither.
int linux_alarm_take(int alarm);

/// Creates a timer on the clock that counts while the machine sleeps (timerfd_create(2), `CLOCK_BOOTTIME`), close-on-exec.
int linux_timer(void);

/// Sets such a timer to a number of nanoseconds from now, at least 1.
int linux_timer_set(int timer, int64_t nanoseconds);

/// Waits until such a timer expires.
int linux_timer_wait(int timer);

/// Creates the pipe through which handlers of signals report, and returns its reading end. Both ends are close-on-exec. Call it
/// once.
int linux_signals(void);

/// Makes a signal report through the pipe instead of its usual effect (sigaction(2)). Interrupted calls are restarted.
int linux_signal_trap(int signal);

/// Waits for a signal that is reported, and returns its number. The calling thread takes SIGHUP, SIGINT and SIGTERM from now on,
/// so these come even if all other threads block them.
int linux_signal_wait(int pipe);

/// Creates an immutable file in memory with the bytes, positioned at its beginning (memfd_create(2)), close-on-exec.
int linux_memory(const void *bytes, size_t count);

/// Creates a pipe (pipe(7)) with the non-blocking reading end first. Both ends are close-on-exec.
int linux_pipe(int ends[2]);

/// Creates a socket for echo requests (icmp(7), ping_group_range), of IPv6 if `is_ipv6` is not 0. It reports every error
/// that is returned, and is non-blocking and close-on-exec.
int linux_echo(int is_ipv6);

/// Gives free memory back to the system (malloc_trim(3)).
void linux_trim(void);

/// The system's report about a network interface (rtnetlink(7)).
struct linux_link {
    /// The number, which is unique while the interface exists; 0 if it does not exist.
    int number;
    /// The name, with a terminating zero.
    char name[16];
    /// Not 0 if the interface was removed.
    int is_gone;
    /// The flags of netdevice(7).
    unsigned flags;
    /// The state of RFC 2863, from 0: unknown, notpresent, down, lowerlayerdown, testing, dormant, up.
    int state;
    /// The longest packet, in bytes.
    unsigned mtu;
};

/// Creates a socket that reports every change of an interface. It is non-blocking and close-on-exec.
int linux_link_watch(void);

/// Reads one message from such a socket. Writes at most `capacity` interfaces, and returns their count. `errno` is EAGAIN
/// if no message is waiting, ENOBUFS if some were lost.
int linux_link_receive(int watch, struct linux_link *links, int capacity);

/// Looks up the interface of a name of at most 15 bytes. Returns 1, 0 if it does not exist, or -1 with `errno`.
int linux_link_find(const char *name, struct linux_link *link);

#endif
