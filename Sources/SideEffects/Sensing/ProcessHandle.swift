import CLinux
import CommonExpression
import Glibc
import MediatorConfiguration
import SystemPackage

/// A process that was alive when the handle was created. Another process cannot be mistaken for it, because the handle
/// has a descriptor of the process (pidfd_open(2)) and its start time (proc(5)).
final class ProcessHandle: Sendable {
    /// The directory with the system's files of processes.
    private static let directory = "/proc"

    /// A descriptor that becomes readable when the process has ended. It is closed on release.
    let descriptor: Int32
    /// The process number.
    let number: pid_t
    /// The start of the process, in ticks since the machine's start. No two processes share both number and start.
    let begin: UInt64
    /// The process name, as the kernel reports it.
    let command: String
    /// The time of day at which the process started.
    let started: Timestamp

    private init(
        descriptor: Int32, number: pid_t, begin: UInt64, command: String, started: Timestamp
    ) {
        self.descriptor = descriptor
        self.number = number
        self.begin = begin
        self.command = command
        self.started = started
    }

    deinit {
        close(descriptor)
    }

    /// A Boolean value that indicates whether the process has ended. It may still wait to be reaped.
    var hasEnded: Bool { Self.hasEnded(descriptor) }

    /// Returns whether both handles are of the same process.
    func isSame(as other: ProcessHandle) -> Bool { number == other.number && begin == other.begin }

    /// Returns the process with a number; `nil` if none runs. Throws if the system does not report it. May block.
    static func open(_ number: pid_t) throws(SensingProblem) -> ProcessHandle? {
        let descriptor = linux_process(number)
        guard descriptor >= 0 else {
            let failure = Errno(rawValue: errno)
            // `invalidArgument` means that the number belongs to a thread.
            if failure == .noSuchProcess || failure == .invalidArgument || failure == .noSuchFileOrDirectory {
                return nil
            }
            throw SensingProblem(
                "cannot watch the process \(number)", failure,
                hint: failure == .noFunction ? "it needs Linux 5.3" : nil)
        }
        let status = status(number)
        // The read values belong to this process only if it is still alive.
        guard !hasEnded(descriptor) else {
            close(descriptor)
            return nil
        }
        guard let status else {
            close(descriptor)
            throw SensingProblem(
                "cannot see the process \(number) in \(directory): does hidepid= or ProtectProc= hide those of others?")
        }
        return ProcessHandle(
            descriptor: descriptor, number: number, begin: status.begin, command: status.command,
            started: time(ofTick: status.begin))
    }

    /// Returns the oldest process with a name; `nil` if none runs. May block.
    static func find(_ command: String) throws(SensingProblem) -> ProcessHandle? {
        guard let listing = opendir(directory) else {
            throw SensingProblem("cannot list the processes in \(directory)", Errno(rawValue: errno))
        }
        var found: [(number: pid_t, begin: UInt64)] = []
        while let entry = readdir(listing) {
            // Most processes have another name, so the name is compared first.
            guard let number = pid_t(DirectoryEntry.name(of: entry)),
                ProcessEntry.text("\(directory)/\(number)/comm") == command + "\n", let status = status(number)
            else { continue }
            found.append((number, status.begin))
        }
        closedir(listing)
        // A process that waits to be reaped, or has ended since, does not count.
        for (number, begin) in found.sorted(by: { ($0.begin, $0.number) < ($1.begin, $1.number) }) {
            if let handle = try open(number), handle.begin == begin, handle.command == command { return handle }
        }
        return nil
    }

    private static func hasEnded(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) != 0
    }

    /// Returns values from `/proc/PID/stat` and `/proc/PID/comm`; `nil` if they cannot be read.
    private static func status(_ number: pid_t) -> (command: String, begin: UInt64)? {
        guard var command = ProcessEntry.text("\(directory)/\(number)/comm"), let begin = ProcessEntry(number)?.begin
        else { return nil }
        if command.last == "\n" { command.removeLast() }
        return (command, begin)
    }

    /// Returns the time of day of a tick since the machine's start. Ticks also count while the machine sleeps.
    static func time(ofTick tick: UInt64) -> Timestamp {
        var (now, sinceBegin) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &sinceBegin)
        let hertz = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        let nanoseconds =
            Int64(now.tv_nsec) - Int64(sinceBegin.tv_nsec) + Int64((tick % hertz) * 1_000_000_000 / hertz)
        let seconds = Int64(now.tv_sec) - Int64(sinceBegin.tv_sec) + Int64(clamping: tick / hertz)
        // The remainder is never negative.
        let carry = nanoseconds >= 0 ? nanoseconds / 1_000_000_000 : (nanoseconds - 999_999_999) / 1_000_000_000
        return Timestamp(seconds: seconds + carry, nanoseconds: Int32(nanoseconds - carry * 1_000_000_000)) ?? epoch
    }

    /// The time for values outside the range of timestamps.
    private static let epoch: Timestamp = {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else {
            preconditionFailure("the beginning of 1970 is within the range of timestamps")
        }
        return epoch
    }()
}
