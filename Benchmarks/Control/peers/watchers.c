/* Watches a bus of numbers over many connections from one thread.
 *
 *     watchers PATH BUS CONNECTIONS LAST
 *
 * Prints `ready` when each has its first value. With LAST it reads until each has seen that value, and prints how many values
 * came, how many the daemon said it had dropped, and how many of the connections those two do not account for all values of
 * (each begins with 0, and then they go up by one). Without LAST, it waits until standard input ends. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct watcher {
    int descriptor;
    int has_begun, is_over;
    long received, dropped, value;
    size_t length;
    char buffer[65536];
};

static void fail(const char *what)
{
    fprintf(stderr, "watchers: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long number(const char *message, const char *name)
{
    const char *place = strstr(message, name);
    if (place == NULL) {
        fprintf(stderr, "watchers: no %s in %s\n", name, message);
        exit(1);
    }
    return strtol(place + strlen(name), NULL, 10);
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fprintf(stderr, "usage: watchers PATH BUS CONNECTIONS [LAST]\n");
        return 2;
    }
    int connections = atoi(arguments[3]);
    long last = count > 4 ? atol(arguments[4]) : -1;
    struct watcher *all = calloc(connections, sizeof *all);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char call[256];
    int length = snprintf(
        call, sizeof call, "{\"method\":\"io.mediatord.Control.WatchBus\",\"more\":true,\"parameters\":{\"name\":\"%s\"}}",
        arguments[2]);
    if (all == NULL || strlen(arguments[1]) >= sizeof address.sun_path || length >= (int)sizeof call)
        fail("arguments");
    strcpy(address.sun_path, arguments[1]);
    for (int index = 0; index < connections; index++) {
        struct watcher *watcher = &all[index];
        watcher->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (watcher->descriptor < 0
            || connect(watcher->descriptor, (struct sockaddr *)&address, sizeof address) < 0
            || write(watcher->descriptor, call, length + 1) != length + 1)
            fail("connect");
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = watcher};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, watcher->descriptor, &event) < 0)
            fail("epoll_ctl");
    }
    int begun = 0, over = 0;
    while (over < connections) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, 30000);
        if (ready <= 0)
            fail("nothing came for half a minute");
        for (int index = 0; index < ready; index++) {
            struct watcher *watcher = events[index].data.ptr;
            ssize_t received = read(
                watcher->descriptor, watcher->buffer + watcher->length, sizeof watcher->buffer - watcher->length);
            if (received <= 0)
                fail("the daemon closed");
            watcher->length += received;
            char *start = watcher->buffer, *end;
            while ((end = memchr(start, 0, watcher->buffer + watcher->length - start)) != NULL) {
                watcher->received++;
                watcher->dropped += number(start, "\"dropped\":");
                watcher->value = number(start, "\"value\":");
                if (!watcher->has_begun) {
                    watcher->has_begun = 1;
                    begun++;
                }
                if (!watcher->is_over && last >= 0 && watcher->value >= last) {
                    watcher->is_over = 1;
                    over++;
                }
                start = end + 1;
            }
            watcher->length = watcher->buffer + watcher->length - start;
            memmove(watcher->buffer, start, watcher->length);
        }
        if (begun == connections) {
            begun++;
            puts("ready");
            fflush(stdout);
            if (last < 0) {
                while (getchar() != EOF)
                    ;
                return 0;
            }
        }
    }
    long values = 0, dropped = 0, wrong = 0;
    for (int index = 0; index < connections; index++) {
        values += all[index].received;
        dropped += all[index].dropped;
        wrong += all[index].received + all[index].dropped != last + 1;
    }
    printf("%ld %ld %ld\n", values, dropped, wrong);
    return 0;
}
