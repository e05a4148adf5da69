#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// The most events that one call fetches.
#define BATCH 64

int linux_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int linux_epoll(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int linux_epoll_add(int queue, int descriptor, uint64_t number) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = number}};
    return epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event);
}

int linux_epoll_remove(int queue, int descriptor) {
    return epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, NULL);
}

int linux_epoll_wait(int queue, uint64_t *numbers, int capacity) {
    struct epoll_event events[BATCH];
    int count;
    do {
        count = epoll_wait(queue, events, capacity < BATCH ? capacity : BATCH, -1);
    } while (count < 0 && errno == EINTR);
    for (int index = 0; index < count; index++) numbers[index] = events[index].data.u64;
    return count;
}

int linux_process(int number) {
    return (int)syscall(SYS_pidfd_open, number, 0);
}

int linux_process_signal(int process, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
}

int linux_memory(const void *bytes, size_t count) {
    int file = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    for (size_t done = 0; done < count;) {
        // pwrite keeps the file position at the beginning.
        ssize_t part = pwrite(file, (const char *)bytes + done, count - done, (off_t)done);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) goto failed;
        done += (size_t)part;
    }
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0) return file;
failed:;
    int failure = errno;
    close(file);
    errno = failure;
    return -1;
}

int linux_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) < 0) return -1;
    // Only the reading end: a command may expect a blocking writing end.
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

int linux_echo(int is_ipv6) {
    int echo = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                      is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    if (echo < 0) return -1;
    int yes = 1;
    // Without the option the socket reports fewer errors, but is still useful.
    if (is_ipv6) {
        setsockopt(echo, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof yes);
    } else {
        setsockopt(echo, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
    }
    return echo;
}

// Longer than any message about an interface.
#define MESSAGE 32768

int linux_link_watch(void) {
    int watch = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (watch < 0) return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    if (bind(watch, (struct sockaddr *)&address, sizeof address) != 0) {
        int failure = errno;
        close(watch);
        errno = failure;
        return -1;
    }
    return watch;
}

// Reads the attributes after the header of a message about an interface.
static void read_link(const struct nlmsghdr *header, struct linux_link *link) {
    const struct ifinfomsg *info = NLMSG_DATA(header);
    memset(link, 0, sizeof *link);
    link->number = info->ifi_index;
    link->flags = info->ifi_flags;
    link->is_gone = header->nlmsg_type == RTM_DELLINK;
    int length = (int)IFLA_PAYLOAD(header);
    for (const struct rtattr *attribute = IFLA_RTA(info); RTA_OK(attribute, length);
         attribute = RTA_NEXT(attribute, length)) {
        size_t size = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == IFLA_IFNAME) {
            if (size > sizeof link->name - 1) size = sizeof link->name - 1;
            memcpy(link->name, RTA_DATA(attribute), size);
        } else if (attribute->rta_type == IFLA_OPERSTATE && size >= 1) {
            link->state = *(const unsigned char *)RTA_DATA(attribute);
        } else if (attribute->rta_type == IFLA_MTU && size >= sizeof link->mtu) {
            memcpy(&link->mtu, RTA_DATA(attribute), sizeof link->mtu);
        }
    }
}

// Returns whether a message is complete and about an interface.
static int is_link(const struct nlmsghdr *header) {
    return (header->nlmsg_type == RTM_NEWLINK || header->nlmsg_type == RTM_DELLINK)
        && header->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifinfomsg));
}

int linux_link_receive(int watch, struct linux_link *links, int capacity) {
    _Alignas(struct nlmsghdr) char buffer[MESSAGE];
    struct sockaddr_nl sender = {0};
    socklen_t size = sizeof sender;
    ssize_t length = recvfrom(watch, buffer, sizeof buffer, 0, (struct sockaddr *)&sender, &size);
    if (length < 0) return -1;
    // Only messages of the kernel count.
    if (sender.nl_pid != 0) return 0;
    int count = 0;
    unsigned rest = (unsigned)length;
    for (struct nlmsghdr *header = (struct nlmsghdr *)buffer; NLMSG_OK(header, rest) && count < capacity;
         header = NLMSG_NEXT(header, rest)) {
        if (!is_link(header)) continue;
        // Messages of bridges about their ports have another family and do not describe the interface itself.
        if (((struct ifinfomsg *)NLMSG_DATA(header))->ifi_family != AF_UNSPEC) continue;
        read_link(header, &links[count++]);
    }
    return count;
}

int linux_link_find(const char *name, struct linux_link *link) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
        char attributes[RTA_SPACE(sizeof link->name)];
    } request;
    memset(&request, 0, sizeof request);
    size_t size = strlen(name) + 1;
    if (size > sizeof link->name) {
        errno = EINVAL;
        return -1;
    }
    request.header.nlmsg_type = RTM_GETLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.info.ifi_family = AF_UNSPEC;
    struct rtattr *attribute = (struct rtattr *)request.attributes;
    attribute->rta_type = IFLA_IFNAME;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    memcpy(RTA_DATA(attribute), name, size);
    request.header.nlmsg_len = (unsigned)(NLMSG_LENGTH(sizeof request.info) + RTA_ALIGN(attribute->rta_len));

    int channel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (channel < 0) return -1;
    struct timeval limit = {.tv_sec = 5};
    setsockopt(channel, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int answer = -1;
    int failure = 0;
    _Alignas(struct nlmsghdr) char buffer[MESSAGE];
    ssize_t length = send(channel, &request, request.header.nlmsg_len, 0);
    if (length >= 0) length = recv(channel, buffer, sizeof buffer, 0);
    const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
    if (length < 0) {
        failure = errno;
    } else if (!NLMSG_OK(header, (unsigned)length)) {
        failure = EBADMSG;
    } else if (header->nlmsg_type == NLMSG_ERROR && header->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        failure = -((const struct nlmsgerr *)NLMSG_DATA(header))->error;
        if (failure == ENODEV) answer = 0;
    } else if (is_link(header)) {
        read_link(header, link);
        answer = 1;
    } else {
        failure = EBADMSG;
    }
    close(channel);
    errno = failure;
    return answer;
}

// The writing end for handlers of signals. It is set before there is a handler.
static int signal_pipe = -1;

static void report_signal(int signal) {
    int saved = errno;
    unsigned char number = (unsigned char)signal;
    // If the pipe is full, this signal is lost. So many wait that it would mean nothing more.
    ssize_t written = write(signal_pipe, &number, 1);
    (void)written;
    errno = saved;
}

int linux_signals(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    signal_pipe = ends[1];
    return ends[0];
}

int linux_signal_trap(int signal) {
    struct sigaction action = {.sa_handler = report_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    return sigaction(signal, &action, NULL);
}

int linux_signal_wait(int pipe) {
    // No others, because a program may block a signal in all of its threads to wait for it.
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGHUP);
    sigaddset(&own, SIGINT);
    sigaddset(&own, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    unsigned char number;
    ssize_t count;
    do {
        count = read(pipe, &number, 1);
    } while (count < 0 && errno == EINTR);
    return count == 1 ? number : -1;
}

int linux_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC); }

int linux_timer_set(int timer, int64_t nanoseconds) {
    struct itimerspec time = {0};
    time.it_value.tv_sec = nanoseconds / 1000000000;
    time.it_value.tv_nsec = nanoseconds % 1000000000;
    return timerfd_settime(timer, 0, &time, NULL);
}

int linux_timer_wait(int timer) {
    uint64_t expirations;
    while (read(timer, &expirations, sizeof expirations) < 0) {
        if (errno != EINTR) return -1;
    }
    return 0;
}

int linux_alarm(void) { return timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int linux_alarm_set(int alarm, int64_t seconds, int64_t nanoseconds) {
    struct itimerspec time = {0};
    time.it_value.tv_sec = seconds;
    time.it_value.tv_nsec = nanoseconds;
    return timerfd_settime(alarm, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &time, NULL);
}

int linux_alarm_take(int alarm) {
    uint64_t expirations;
    if (read(alarm, &expirations, sizeof expirations) == sizeof expirations) return 1;
    if (errno == ECANCELED) return 2;
    return errno == EAGAIN ? 0 : -1;
}

void linux_trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
