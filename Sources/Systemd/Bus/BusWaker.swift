import CSystemd
import Glibc

/// Wakes a thread that waits in poll(2).
final class BusWaker: Sendable {
    let descriptor: Int32

    /// `nil` if the system has no descriptor to give.
    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func wake() { eventfd_write(descriptor, 1) }

    func clear() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}
