import Glibc
import Synchronization

/// Whether the process has descriptors to spare for another command.
///
/// What begins a command needs about a dozen at once: pipes for its output, one for what the child tells before it is the
/// command, and one for the child itself. Running out of them in the midst of that is not survived by all that takes part.
enum DescriptorReserve {
    /// How many must be free: more than the commands that begin at the same moment need.
    static let least = 64

    private static let lock = Mutex(())

    /// Whether so many can be had now. They are taken and given back at once, by one caller at a time.
    static var isThere: Bool {
        lock.withLock { _ in
            var taken: [Int32] = []
            taken.reserveCapacity(least)
            defer { for descriptor in taken { close(descriptor) } }
            let first = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard first >= 0 else { return false }
            taken.append(first)
            while taken.count < least {
                let descriptor = fcntl(first, F_DUPFD_CLOEXEC, 0)
                guard descriptor >= 0 else { return false }
                taken.append(descriptor)
            }
            return true
        }
    }
}
