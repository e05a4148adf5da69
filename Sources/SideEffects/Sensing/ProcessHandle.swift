import CLinux
import CommonExpression
import Glibc
import MediatorConfiguration
import SystemPackage

/// A process that was alive when this was made, and whose number cannot be taken for another's: it holds a descriptor of it
/// (pidfd_open(2)), and knows when it began (proc(5)).
final class ProcessHandle: Sendable {
    /// Where the system shows processes.
    private static let directory = "/proc"
    /// How much of a process's file is read: more than any has of what is looked for.
    private static let chunk = 1024

    /// Can be read when the process has ended; closed when nobody has the handle any more.
    let descriptor: Int32
    /// Its number.
    let number: pid_t
    /// When it began, in ticks since the machine did. With the number, no two processes share it.
    let begin: UInt64
    /// Its name, as the kernel has it.
    let command: String
    /// The time of day when it began.
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

    /// Whether it has ended; it may still wait to be reaped.
    var hasEnded: Bool { Self.hasEnded(descriptor) }

    /// Whether it is the same process.
    func isSame(as other: ProcessHandle) -> Bool { number == other.number && begin == other.begin }

    /// The process of a number; `nil` if none runs. May block.
    ///
    /// Throws if the system does not say.
    static func open(_ number: pid_t) throws(SensingProblem) -> ProcessHandle? {
        let descriptor = linux_process(number)
        guard descriptor >= 0 else {
            let failure = Errno(rawValue: errno)
            // The latter: it is the number of a thread.
            if failure == .noSuchProcess || failure == .invalidArgument || failure == .noSuchFileOrDirectory {
                return nil
            }
            throw SensingProblem(
                "cannot watch the process \(number)", failure,
                hint: failure == .noFunction ? "it needs Linux 5.3" : nil)
        }
        let status = status(number)
        // What was read is about this process only if that has not ended since.
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

    /// The oldest process that has a name; `nil` if none runs. May block.
    static func find(_ command: String) throws(SensingProblem) -> ProcessHandle? {
        guard let listing = opendir(directory) else {
            throw SensingProblem("cannot list the processes in \(directory)", Errno(rawValue: errno))
        }
        var found: [(number: pid_t, begin: UInt64)] = []
        while let entry = readdir(listing) {
            // Most have another name, which is soon seen.
            guard let number = pid_t(DirectoryEntry.name(of: entry)),
                text("\(directory)/\(number)/comm") == command + "\n", let status = status(number)
            else { continue }
            found.append((number, status.begin))
        }
        closedir(listing)
        // One that waits to be reaped, or has ended since, is none.
        for (number, begin) in found.sorted(by: { ($0.begin, $0.number) < ($1.begin, $1.number) }) {
            if let handle = try open(number), handle.begin == begin, handle.command == command { return handle }
        }
        return nil
    }

    private static func hasEnded(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) != 0
    }

    /// What `/proc/PID/stat` and `/proc/PID/comm` say; `nil` if they cannot be read.
    private static func status(_ number: pid_t) -> (command: String, begin: UInt64)? {
        guard
            var command = text("\(directory)/\(number)/comm"),
            let line = text("\(directory)/\(number)/stat"),
            // The name stands in parentheses, and may itself hold any character.
            let end = line.lastIndex(of: ")")
        else { return nil }
        if command.last == "\n" { command.removeLast() }
        // Behind the name, with the state, the third field begins; the time is the twenty-second.
        let fields = line[line.index(after: end)...].split(separator: " ")
        guard fields.count > 19, let begin = UInt64(fields[19]) else { return nil }
        return (command, begin)
    }

    private static func text(_ path: String) -> String? {
        guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else { return nil }
        return try? file.closeAfter {
            try withUnsafeTemporaryAllocation(byteCount: chunk, alignment: 1) { buffer in
                let count = try file.read(into: buffer)
                return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
            }
        }
    }

    /// The time of day of a tick since the machine began, which goes on while it sleeps.
    private static func time(ofTick tick: UInt64) -> Timestamp {
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

    /// What stands for a time that no timestamp can be.
    private static let epoch: Timestamp = {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else {
            preconditionFailure("the beginning of 1970 is within the range of timestamps")
        }
        return epoch
    }()
}
