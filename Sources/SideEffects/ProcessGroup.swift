import Glibc
import MediatorConfiguration
import SystemPackage

/// A process group whose leader has not been reaped, so that no other group can have its number.
struct ProcessGroup: Sendable {
    let leader: pid_t

    /// The time for killed members to disappear. The kernel may delay one that waits for a disk.
    static let killAllowance = Duration.seconds(2)

    /// Sends `SIGTERM` to every member, waits for the grace period, and kills the rest. Returns `false` if a member is
    /// still alive.
    func end(within grace: Duration) async -> Bool {
        guard hasLivingMembers else { return true }
        kill(-leader, SIGTERM)
        // A stopped process would not handle the signal.
        kill(-leader, SIGCONT)
        if await isEmpty(within: grace) { return true }
        kill(-leader, SIGKILL)
        return await isEmpty(within: Self.killAllowance)
    }

    /// Waits until no member runs, up to a limit.
    ///
    /// The kernel reports the end of a process only to its parent, and members need not be children of the daemon. The
    /// function therefore polls with increasing intervals.
    private func isEmpty(within limit: Duration) async -> Bool {
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: limit)
        var pause = Duration.milliseconds(2)
        while hasLivingMembers {
            guard clock.now < deadline else { return false }
            try? await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
        return true
    }

    /// A Boolean value that indicates whether a member still runs. A process that waits to be reaped does not count.
    var hasLivingMembers: Bool {
        // A group may exist although its members' permissions forbid a signal.
        guard kill(-leader, 0) == 0 || errno == EPERM else { return false }
        guard let directory = opendir("/proc") else { return true }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            if let pid = pid_t(DirectoryEntry.name(of: entry)), isLivingMember(pid) { return true }
        }
        return false
    }

    /// Reads the state and the process group from `/proc/PID/stat` (proc(5)). They follow the name, which is in
    /// parentheses and may contain any character.
    private func isLivingMember(_ pid: pid_t) -> Bool {
        guard
            let file = try? FileDescriptor.open("/proc/\(pid)/stat", .readOnly),
            let text = try? file.closeAfter({
                try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
                    let count = try file.read(into: buffer)
                    return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
                }
            }),
            let end = text.lastIndex(of: ")")
        else { return false }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 2, let group = pid_t(fields[2]) else { return false }
        return group == leader && fields[0] != "Z" && fields[0] != "X"
    }
}
