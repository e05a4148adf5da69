// Mapped files that become shorter while they are read. journald(8) cuts a file of the journal to its length when it has done with
// it, and libsystemd's own programs protect themselves in the same way (sigbus.c there); that protection is not for others to use.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clinux.h"

static _Thread_local volatile sig_atomic_t depth;
static _Thread_local volatile sig_atomic_t is_cut;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;
static uintptr_t page_size;

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    if (depth > 0 && info->si_code == BUS_ADRERR) {
        int error = errno;
        void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
        // mmap(2) is a bare call of the system here, and so may be made by a handler.
        if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
            is_cut = 1;
            errno = error;
            return;
        }
    }
    // As it was before: what was done is done again, and ends as it would have.
    sigaction(SIGBUS, &before, NULL);
    if (info->si_code <= 0) raise(number);
}

static void install(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

void linux_mapping_begin(void) {
    pthread_once(&once, install);
    if (depth == 0) is_cut = 0;
    depth = depth + 1;
}

int linux_mapping_end(void) {
    depth = depth - 1;
    return is_cut != 0;
}
