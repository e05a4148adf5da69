#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

/// How often this process has allocated memory.
long allocation_count(void);

#endif
