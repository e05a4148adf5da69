/* Makes calls over UNIX sockets from one thread, and says how many there were in a second and how long they took.
 *
 *     calls PATH PROTOCOL CONNECTIONS PIPELINED SECONDS [METHOD [PARAMETERS]]
 *
 * PROTOCOL is `redis`, for PING as redis-benchmark sends it, or `varlink`. On each connection PIPELINED calls are sent at
 * once, and the next as soon as all are answered; a call's time is that of its batch. Prints calls per second, the 50th and
 * 99th percentile in microseconds, and how many calls there were, those for getting warm included. */

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

#define MOST_TIMES 20000000

struct connection {
    int descriptor;
    int waiting;
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
    fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        fail(path);
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0)
        fail(path);
    return descriptor;
}

static void send_batch(struct connection *connection, const char *batch, size_t length, int count)
{
    connection->waiting = count;
    connection->sent = now();
    while (length > 0) {
        ssize_t sent = write(connection->descriptor, batch, length);
        if (sent < 0)
            fail("write");
        batch += sent;
        length -= sent;
    }
}

static int compare(const void *left, const void *right)
{
    float difference = *(const float *)left - *(const float *)right;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **arguments)
{
    if (count < 6) {
        fprintf(stderr, "usage: calls PATH redis|varlink CONNECTIONS PIPELINED SECONDS [METHOD [PARAMETERS]]\n");
        return 2;
    }
    int is_redis = strcmp(arguments[2], "redis") == 0;
    int connections = atoi(arguments[3]), pipelined = atoi(arguments[4]);
    double seconds = atof(arguments[5]);
    char call[4096];
    size_t length;
    if (is_redis) {
        length = sprintf(call, "*1\r\n$4\r\nPING\r\n");
    } else {
        int written = snprintf(
            call, sizeof call, "{\"method\":\"%s\"%s%s}", count > 6 ? arguments[6] : "io.systemd.service.Ping",
            count > 7 ? ",\"parameters\":" : "", count > 7 ? arguments[7] : "");
        if (written < 0 || (size_t)written >= sizeof call)
            return 2;
        length = written + 1;
    }
    char end = is_redis ? '\n' : '\0';
    char *batch = malloc(length * pipelined);
    struct connection *all = calloc(connections, sizeof *all);
    float *times = malloc(sizeof *times * MOST_TIMES);
    if (batch == NULL || all == NULL || times == NULL)
        fail("malloc");
    for (int index = 0; index < pipelined; index++)
        memcpy(batch + index * length, call, length);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int index = 0; index < connections; index++) {
        all[index].descriptor = connect_to(arguments[1]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[index]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[index].descriptor, &event) < 0)
            fail("epoll_ctl");
    }
    /* The first fifth is for getting warm. */
    double begin = 0, warm = now() + seconds / 5, over = warm + seconds;
    long calls = 0, batches = 0, all_calls = 0;
    static char buffer[1 << 16];
    for (int index = 0; index < connections; index++)
        send_batch(&all[index], batch, length * pipelined, pipelined);
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll, events, 256, 5000);
        if (ready <= 0)
            fail("no answer within five seconds");
        double time = now();
        if (time >= over)
            break;
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            ssize_t received = read(connection->descriptor, buffer, sizeof buffer);
            if (received <= 0)
                fail("the peer closed");
            if (memmem(buffer, received, "\"error\"", 7) != NULL || buffer[0] == '-') {
                fprintf(stderr, "calls: an error: %.200s\n", buffer);
                return 1;
            }
            for (char *place = buffer; (place = memchr(place, end, buffer + received - place)) != NULL; place++)
                connection->waiting--;
            if (connection->waiting > 0)
                continue;
            time = now();
            all_calls += pipelined;
            if (time > warm) {
                if (begin == 0)
                    begin = time;
                calls += pipelined;
                if (batches < MOST_TIMES)
                    times[batches++] = (time - connection->sent) * 1e6;
            }
            send_batch(connection, batch, length * pipelined, pipelined);
        }
    }
    if (batches == 0)
        fail("no call was answered");
    qsort(times, batches, sizeof *times, compare);
    printf(
        "%.0f %.1f %.1f %ld\n", calls / (now() - begin), times[batches / 2], times[batches * 99 / 100], all_calls);
    return 0;
}
