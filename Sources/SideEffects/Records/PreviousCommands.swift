import CLinux
import Glibc
import Logging
import MediatorConfiguration
import MediatorHost

/// The commands of the previous daemon that its records name.
///
/// They are ended and never continued, because their pipes have ended with the daemon, and nobody can learn their exit
/// status.
struct PreviousCommands {
    /// The time for a process group to end before it is killed.
    static let grace = Duration.seconds(5)
    /// The time for reading the environments of all processes. A process that the kernel holds up may delay it for ever.
    static let scanLimit = Duration.seconds(5)

    let directory: CommandRecords.Directory
    let logger: Logger

    /// Ends the commands that still run. Removes all records, except for those of groups that do not end.
    func end() async {
        let records = read()
        guard !records.isEmpty else { return }
        guard let processes = await processes() else {
            for (_, record) in records { notEnded(record, "the processes in /proc cannot be listed") }
            return
        }
        var groups: [LeftGroup] = []
        for (id, record) in records {
            let judgement = record.judge(run: id, here: directory.origin, own: getpgrp(), among: processes)
            for number in judgement.outside {
                logger.warning(
                    "a process of the previous run of mediatord still runs outside its group",
                    metadata: about(.previousProcessOutside, record, number))
            }
            switch judgement.group {
            case .ours(let number):
                groups.append(LeftGroup(id: id, record: record, number: number, processes))
                continue
            case .unproven(let number):
                notEnded(record, "nothing shows that the group still belongs to it", number)
            case .unseen:
                notEnded(record, "mediatord ended during its start, and none of its processes is recognised")
            case .elsewhere: notEnded(record, "it ran in another PID namespace")
            case .over:
                // The system may hide processes of others, such as a program with more rights (hidepid=).
                if let number = record.leader?.number, !processes.contains(where: { $0.number == number }),
                    kill(-number, 0) != 0, errno == EPERM
                {
                    notEnded(record, "not permitted", number)
                    continue
                }
            }
            remove(id)
        }
        await end(&groups)
        for group in groups {
            guard group.living.isEmpty else {
                notEnded(group.record, group.isOpen ? "it does not end" : "not permitted", group.number)
                continue
            }
            guard !group.isUndecided else {
                notEnded(group.record, "a process that is left in its group shows no environment", group.number)
                continue
            }
            var metadata = about(.previousCommandEnded, group.record, group.number)
            if let leader = group.record.leader { metadata["since"] = "\(ProcessHandle.time(ofTick: leader.begin))" }
            logger.notice("ended a command of the previous run of mediatord", metadata: metadata)
            remove(group.id)
        }
    }

    /// Reads the entries of all processes, without the environments if those cannot be read in time.
    private func processes() async -> [ProcessEntry]? {
        let scan = Task { try await Blocking.call { ProcessEntry.all(readingRuns: true) } }
        let timer = Task {
            // The system clock, also where the daemon has another one: this is a wait for the kernel.
            try await Task.sleep(for: Self.scanLimit)
            scan.cancel()
        }
        defer { timer.cancel() }
        if let processes = try? await scan.value { return processes }
        logger.warning("the environments of the processes in /proc cannot be read within \(Self.scanLimit)")
        return ProcessEntry.all()
    }

    /// Ends all groups at once, at first with `SIGTERM`. Returns when they have ended, or do not end.
    private func end(_ groups: inout [LeftGroup]) async {
        let clock = ContinuousClock()
        // A stopped process would not handle `SIGTERM`.
        for (signals, limit) in [([SIGTERM, SIGCONT], Self.grace), ([SIGKILL], ProcessGroup.killAllowance)] {
            let deadline = clock.now.advanced(by: limit)
            var pause = Duration.milliseconds(2)
            for index in groups.indices { groups[index].forgetSignals() }
            while groups.contains(where: \.isOpen) {
                for index in groups.indices { groups[index].send(signals) }
                guard clock.now < deadline else { break }
                // The kernel reports the end of a process only to its parent, so the function polls.
                try? await clock.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(100))
                guard let processes = ProcessEntry.all() else { continue }
                for index in groups.indices { groups[index].update(processes) }
            }
        }
    }

    /// Reads all records. Removes those that are damaged.
    private func read() -> [(id: String, record: CommandRecord)] {
        guard let listing = opendir(directory.path) else {
            unreadable(directory.path)
            return []
        }
        defer { closedir(listing) }
        var ids: [String] = []
        while let entry = readdir(listing) {
            let name = DirectoryEntry.name(of: entry)
            if CommandRecord.isID(name) { ids.append(name) }
        }
        return ids.sorted().compactMap { id -> (id: String, record: CommandRecord)? in
            let path = "\(directory.path)/\(id)"
            guard let text = ProcessEntry.text(path, limit: CommandRecord.sizeLimit) else {
                unreadable(path)
                return nil
            }
            if let record = CommandRecord(text: text) { return (id, record) }
            // The file is empty if the daemon was killed before it wrote the first line. The command had not started.
            if !text.isEmpty {
                logger.warning("removed a damaged record of a command", metadata: ["file": "\(path)"])
            }
            remove(id)
            return nil
        }
    }

    private func unreadable(_ path: String) {
        logger.warning(
            "cannot read a record of the commands of the previous run of mediatord; they may still run",
            metadata: ["file": "\(path)", "reason": "\(String(cString: strerror(errno)))"])
    }

    private func remove(_ id: String) { unlink("\(directory.path)/\(id)") }

    private func notEnded(_ record: CommandRecord, _ reason: String, _ number: pid_t? = nil) {
        logger.warning(
            "cannot end a command of the previous run of mediatord: \(reason)",
            metadata: about(.previousCommandNotEnded, record, number))
    }

    private func about(_ id: MessageID, _ record: CommandRecord, _ number: pid_t?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "system": "\(record.system)", "feedback": "\(record.feedback)", "command": "\(record.program)",
        ]
        if let number { metadata["pid"] = "\(number)" }
        return metadata.about(id)
    }
}

/// A process group that a command of the previous daemon has left.
///
/// Unlike the leader of a ``ProcessGroup``, its leader may be reaped at any time. So each process is checked before it
/// gets a signal. The group counts as the same as long as one of its known processes holds its number, or a member has the
/// ID of the run in its environment.
private struct LeftGroup {
    let id: String
    let record: CommandRecord
    /// The number of the group.
    let number: pid_t
    /// The members that run.
    private(set) var living: [ProcessEntry] = []
    /// A Boolean value that indicates whether the last look left open whether the members belong to the command.
    private(set) var isUndecided = false
    /// The number of looks in a row without a living member. A look may miss a process that is created during it.
    private var emptyLooks = 0
    private var known: Set<ProcessEntry.Identity>
    /// The processes that have got the current signals.
    private var told: Set<ProcessEntry.Identity> = []
    /// The processes that the daemon may not signal.
    private var refusing: Set<ProcessEntry.Identity> = []

    init(id: String, record: CommandRecord, number: pid_t, _ processes: [ProcessEntry]) {
        self.id = id
        self.record = record
        self.number = number
        known = Set(processes.filter { $0.group == number || $0.number == number }.map(\.identity))
        update(processes)
    }

    /// A Boolean value that indicates whether a member runs that may be signalled, or may have been missed.
    var isOpen: Bool { living.isEmpty ? emptyLooks < 3 : living.contains { !refusing.contains($0.identity) } }

    /// Takes in the processes that exist now.
    mutating func update(_ processes: [ProcessEntry]) {
        var members = processes.filter { $0.group == number }
        isUndecided = false
        if !processes.contains(where: { known.contains($0.identity) && ($0.group == number || $0.number == number) }) {
            // A member may have been created, and all others have ended, since the last look.
            let isAnother = processes.contains { $0.number == number }
            let runs = isAnother ? [] : members.filter(\.isLiving).map { ProcessEntry.run(of: $0.number) }
            if !runs.contains(id) {
                // A process shows no environment while it becomes another program, so a later look decides.
                isUndecided = runs.contains(nil)
                members = []
            }
        }
        known.formUnion(members.map(\.identity))
        living = members.filter(\.isLiving)
        if living.isEmpty, !isUndecided { emptyLooks += 1 } else { emptyLooks = 0 }
    }

    /// Lets each member get the next signals.
    mutating func forgetSignals() { told = [] }

    /// Sends signals to each member that has not got them.
    mutating func send(_ signals: [Int32]) {
        for process in living where told.insert(process.identity).inserted {
            let descriptor = linux_process(process.number)
            guard descriptor >= 0 else {
                // Unless the process has ended, another attempt follows.
                if errno != ESRCH { told.remove(process.identity) }
                continue
            }
            defer { close(descriptor) }
            // By now another process may have the number.
            guard let now = ProcessEntry(process.number), now.identity == process.identity, now.group == number else {
                continue
            }
            for signal in signals where linux_process_signal(descriptor, signal) != 0 && errno == EPERM {
                refusing.insert(process.identity)
            }
        }
    }
}
