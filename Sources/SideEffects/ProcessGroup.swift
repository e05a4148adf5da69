import Glibc
import MediatorConfiguration
import SystemPackage

/// A process group whose leader has not been reaped, so that its number is nobody else's.
struct ProcessGroup: Sendable {
    let leader: pid_t

    /// How long members that were killed may take to be gone; the kernel may hold one that waits for a disk.
    static let killAllowance = Duration.seconds(2)

    /// Asks every member to end, waits, and kills what is left after the grace. `false`: one is still alive.
    func end(within grace: Duration) async -> Bool {
        guard hasLivingMembers else { return true }
        kill(-leader, SIGTERM)
        // A stopped process does not see that it is asked to end.
        kill(-leader, SIGCONT)
        if await isEmpty(within: grace) { return true }
        kill(-leader, SIGKILL)
        return await isEmpty(within: Self.killAllowance)
    }

    /// Waits until no member runs any more, or the limit has passed.
    ///
    /// The kernel tells nobody but a parent when a process ends, and members need not be our children: so it looks
    /// again, at first soon, then at longer intervals.
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

    /// Whether a member still runs; those that have ended and wait to be reaped do not count.
    var hasLivingMembers: Bool {
        // A group that may not be signalled, because its members have other rights, is there all the same.
        guard kill(-leader, 0) == 0 || errno == EPERM else { return false }
        guard let directory = opendir("/proc") else { return true }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            if let pid = pid_t(DirectoryEntry.name(of: entry)), isLivingMember(pid) { return true }
        }
        return false
    }

    /// Reads `/proc/PID/stat` (proc(5)): the state and the process group stand behind the name, which is in parentheses
    /// and may itself hold any character.
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
