#include "memory_use.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

size_t memory_allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

size_t memory_resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    size_t size = 0, resident = 0;
    if (fscanf(file, "%zu %zu", &size, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}
