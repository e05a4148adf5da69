// Files of the journal that become shorter while they are read. journald(8) cuts a file to its length when it has done with it, and
// libsystemd's own programs protect themselves in a similar way (sigbus.c there); that protection is not for others to use.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clinux.h"

// A handler may use these, also in a library that was loaded later: nothing is allocated for them.
static _Thread_local volatile sig_atomic_t depth __attribute__((tls_model("initial-exec")));
static _Thread_local atomic_ulong faults __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;
static uintptr_t page_size;

// How much of a line's end is looked at: the longest of the names below.
enum { TAIL = 24 };

static int ends_with(const char *tail, size_t length, const char *end) {
    size_t wanted = strlen(end);
    return length >= wanted && memcmp(tail + length - wanted, end, wanted) == 0;
}

// Whether a line of proc_pid_maps(5) ends with the name of a file of the journal.
static int is_journal_name(const char *tail, size_t length) {
    return ends_with(tail, length, ".journal") || ends_with(tail, length, ".journal~") ||
           ends_with(tail, length, ".journal (deleted)") || ends_with(tail, length, ".journal~ (deleted)");
}

// Whether an address lies in a file of the journal that is mapped. For a handler: nothing but calls of the system.
static int is_of_journal(uintptr_t address) {
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return 0;
    char buffer[512], tail[TAIL];
    // The two numbers at the beginning of a line, and which of them is being read; then the rest.
    uintptr_t bounds[2] = {0, 0};
    size_t part = 0, length = 0;
    int found = -1;
    while (found < 0) {
        ssize_t count = read(maps, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        for (ssize_t index = 0; index < count && found < 0; index++) {
            char byte = buffer[index];
            if (byte == '\n') {
                if (address >= bounds[0] && address < bounds[1]) found = is_journal_name(tail, length);
                bounds[0] = bounds[1] = 0;
                part = length = 0;
            } else if (part < 2) {
                if (byte >= '0' && byte <= '9') bounds[part] = bounds[part] << 4 | (uintptr_t)(byte - '0');
                else if (byte >= 'a' && byte <= 'f') bounds[part] = bounds[part] << 4 | (uintptr_t)(byte - 'a' + 10);
                else part++;
            } else {
                if (length == TAIL) memmove(tail, tail + 1, --length);
                tail[length++] = byte;
            }
        }
    }
    close(maps);
    return found > 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (depth > 0 && info->si_code == BUS_ADRERR && is_of_journal(address)) {
        void *page = (void *)(address & ~(page_size - 1));
        // mmap(2) is a bare call of the system here, and so may be made by a handler.
        if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
            atomic_fetch_add(&faults, 1);
            errno = error;
            return;
        }
    }
    errno = error;
    // As it was before.
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else if (info->si_code > 0 || before.sa_handler == SIG_DFL) {
        // What was done is done again, and ends the process; to ignore that is not possible. Who only sent it is answered likewise.
        signal(SIGBUS, SIG_DFL);
        if (info->si_code <= 0) raise(number);
    }
}

static void install(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

void linux_journal_begin(void) {
    pthread_once(&once, install);
    depth = depth + 1;
}

void linux_journal_end(void) {
    depth = depth - 1;
}

unsigned long linux_journal_faults(void) {
    return atomic_load(&faults);
}
