#pragma once

// eventfd(2) wakes the thread of a connection. Swift's module of the C library does not have it.
#include <sys/eventfd.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
