import Glibc
import MediatorConfiguration

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
            guard let pid = pid_t(DirectoryEntry.name(of: entry)), let process = ProcessEntry(pid) else { continue }
            if process.group == leader, process.isLiving { return true }
        }
        return false
    }
}
