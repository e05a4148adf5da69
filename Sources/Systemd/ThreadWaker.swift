import CSystemd
import Glibc

/// Wakes a thread that waits in poll(2) for a descriptor.
package final class ThreadWaker: Sendable {
    /// The descriptor to poll.
    package let descriptor: Int32

    /// Creates a waker; `nil` if the system has no free descriptor.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor readable.
    package func wake() { eventfd_write(descriptor, 1) }

    /// Makes the descriptor unreadable until the next ``wake()``.
    package func clear() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}
