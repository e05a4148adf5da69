package import Glibc

/// The conclusion from the record of a previous run and the processes that exist now.
package struct RecordJudgement: Equatable, Sendable {
    /// The conclusion about the group of the command.
    package enum Group: Equatable, Sendable {
        /// No process of the group runs.
        case over
        /// The record has no group, and no process is recognised: the daemon ended before, during or just after the start.
        case unseen
        /// The command ran in another PID namespace, where process numbers have another meaning.
        case elsewhere
        /// The group with this number belongs to the command.
        case ours(pid_t)
        /// A group with the recorded number runs, but nothing shows that it is the same group.
        case unproven(pid_t)
    }

    package let group: Group
    /// The processes of the run that have left its group.
    package let outside: [pid_t]

    package init(_ group: Group, outside: [pid_t] = []) {
        self.group = group
        self.outside = outside
    }
}

extension CommandRecord {
    /// Returns the conclusion from this record.
    ///
    /// - Parameters:
    ///   - run: The ID of the run.
    ///   - here: The surroundings of this daemon.
    ///   - own: The process group of this daemon, which is never the command's.
    ///   - processes: All processes, with the IDs of their runs.
    package func judge(
        run: String, here: Origin, own: pid_t, among processes: [ProcessEntry]
    ) -> RecordJudgement {
        guard origin.boot == here.boot else { return RecordJudgement(.over) }
        guard origin.namespace == here.namespace else { return RecordJudgement(.elsewhere) }
        let carriers = processes.filter { $0.isLiving && $0.run == run && $0.group != own }
        // Without a recorded group, it is that of the oldest process of the run. A process that has left its group with
        // setsid(2) is in another session.
        let oldest = carriers.filter { $0.session == origin.session }
            .min { ($0.begin, $0.number) < ($1.begin, $1.number) }
        let candidate = leader?.number ?? oldest?.group
        let members = processes.filter { $0.group == candidate }
        let holder = processes.first { $0.number == candidate }
        // The kernel gives a number to no other process as long as a process or a group has it. So a later process with
        // the number shows that the group was empty in between. The leader itself, even if it waits to be reaped, shows
        // that the group is still the same.
        let isAnother = leader != nil && holder != nil && holder?.identity != leader
        guard let number = candidate, number > 1, number != own, !isAnother, members.contains(where: \.isLiving) else {
            return RecordJudgement(
                leader == nil && carriers.isEmpty ? .unseen : .over, outside: carriers.map(\.number))
        }
        let isOurs = (leader != nil && holder != nil) || members.contains { $0.run == run }
        let outside = carriers.filter { !isOurs || $0.group != number }
        return RecordJudgement(isOurs ? .ours(number) : .unproven(number), outside: outside.map(\.number))
    }
}
