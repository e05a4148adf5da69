/* Emits events to persisted systems, and says how many transitions were seen in a second and how long each took.
 *
 *     emits PATH CLIENTS SECONDS
 *
 * Client N watches the system `sN`, emits `Go` to it, and emits again when the watch shows the new state. A persisted state
 * is shown when it is on the disk, so the time from the call to that is the time of a durable transition. Prints transitions
 * per second, and the 50th and 99th percentile in microseconds. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST_CLIENTS 1000
#define MOST_TIMES 5000000

static double times[MOST_TIMES];
static size_t count;

struct client {
    int calls, watch;
    double sent;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "emits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int connected(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail("path");
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    return descriptor;
}

static void call(int descriptor, const char *method, const char *parameters, int more)
{
    char text[512];
    int length = snprintf(text, sizeof text, "{\"method\":\"io.mediatord.Control.%s\",\"parameters\":%s%s}", method,
                          parameters, more ? ",\"more\":true" : "");
    if (send(descriptor, text, length + 1, 0) != length + 1) fail("send");
}

/* Reads what is there, and returns the number of messages that have ended in it. */
static int messages(int descriptor)
{
    static char text[65536];
    ssize_t length = recv(descriptor, text, sizeof text, 0);
    if (length <= 0) fail("recv");
    if (memmem(text, length, "\"error\"", 7)) {
        fprintf(stderr, "emits: %.*s\n", (int)length, text);
        exit(1);
    }
    int found = 0;
    for (ssize_t at = 0; at < length; at++) found += text[at] == 0;
    return found;
}

static void emit(struct client *client, int number)
{
    char parameters[64];
    snprintf(parameters, sizeof parameters, "{\"system\":\"s%d\",\"event\":\"Go\"}", number);
    client->sent = now();
    call(client->calls, "Emit", parameters, 0);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: emits PATH CLIENTS SECONDS\n");
        return 2;
    }
    int clients = atoi(argv[2]);
    double seconds = atof(argv[3]);
    static struct client all[MOST_CLIENTS];
    if (clients < 1 || clients > MOST_CLIENTS) return 2;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int number = 0; number < clients; number++) {
        struct client *client = &all[number];
        client->calls = connected(argv[1]);
        client->watch = connected(argv[1]);
        char parameters[64];
        snprintf(parameters, sizeof parameters, "{\"name\":\"s%d\"}", number);
        call(client->watch, "WatchSystem", parameters, 1);
        /* The first message is the present state. */
        while (messages(client->watch) == 0) {
        }
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)number * 2};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, client->calls, &event) < 0) fail("epoll_ctl");
        event.data.u64++;
        if (epoll_ctl(poll, EPOLL_CTL_ADD, client->watch, &event) < 0) fail("epoll_ctl");
    }
    for (int number = 0; number < clients; number++) emit(&all[number], number);
    /* A quarter of the time is for getting warm. */
    double begin = now(), warm = begin + seconds / 4, end = warm + seconds;
    while (now() < end) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, 10000);
        if (ready <= 0) fail("epoll_wait");
        for (int index = 0; index < ready; index++) {
            int number = events[index].data.u64 / 2;
            struct client *client = &all[number];
            if (events[index].data.u64 % 2 == 0) {
                messages(client->calls);
            } else if (messages(client->watch) > 0) {
                double time = now();
                if (time > warm && count < MOST_TIMES) times[count++] = time - client->sent;
                emit(client, number);
            }
        }
    }
    if (count == 0) return 1;
    qsort(times, count, sizeof *times, compare);
    printf("%.0f %.1f %.1f\n", count / (now() - warm), times[count / 2] * 1e6, times[count * 99 / 100] * 1e6);
    return 0;
}
