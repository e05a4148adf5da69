#pragma once

#include <stddef.h>

/// What the process's allocator has given out and not got back, in bytes, its own header of each block included.
size_t memory_allocated(void);

/// What of the process lies in memory, in bytes; 0 if the kernel does not say.
size_t memory_resident(void);
