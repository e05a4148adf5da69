/* Commits one row after another with SQLite, and says how many there were in a second and how long each took.
 *
 *     commits FILE SECONDS [PAUSE]
 *
 * Before each commit it pauses for so many microseconds, as a client does that waits for an answer.
 *
 * The settings are those of the daemon's store: a log (WAL), a sync for each commit, and an exclusive lock. Prints commits
 * per second, and the 50th and 99th percentile in microseconds. */

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_TIMES 1000000

static double times[MOST_TIMES];
static size_t count;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(sqlite3 *database, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "commits: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: commits FILE SECONDS [PAUSE]\n");
        return 2;
    }
    struct timespec pause = {.tv_nsec = argc == 4 ? atol(argv[3]) * 1000 : 0};
    sqlite3 *database;
    check(NULL, sqlite3_open(argv[1], &database));
    check(database, sqlite3_exec(database,
                                 "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                 "CREATE TABLE IF NOT EXISTS part (name TEXT PRIMARY KEY, n INTEGER, body BLOB) WITHOUT ROWID",
                                 NULL, NULL, NULL));
    sqlite3_stmt *put;
    check(database, sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO part VALUES ('s0', ?, zeroblob(200))", -1, &put, NULL));
    double seconds = atof(argv[2]), warm = now() + seconds / 4, end = warm + seconds;
    for (long number = 0; now() < end; number++) {
        if (pause.tv_nsec > 0) nanosleep(&pause, NULL);
        double begin = now();
        check(database, sqlite3_bind_int64(put, 1, number));
        check(database, sqlite3_step(put));
        check(database, sqlite3_reset(put));
        if (now() > warm && count < MOST_TIMES) times[count++] = now() - begin;
    }
    sqlite3_finalize(put);
    sqlite3_close(database);
    if (count == 0) return 1;
    qsort(times, count, sizeof *times, compare);
    printf("%.0f %.1f %.1f\n", count / seconds, times[count / 2] * 1e6, times[count * 99 / 100] * 1e6);
    return 0;
}
