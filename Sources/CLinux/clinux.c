#define _GNU_SOURCE
#include "clinux.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>

// How many events are fetched with one call.
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
    int count = epoll_wait(queue, events, capacity < BATCH ? capacity : BATCH, -1);
    for (int index = 0; index < count; index++) numbers[index] = events[index].data.u64;
    return count;
}
