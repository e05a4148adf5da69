import Glibc
package import Logging
import MediatorHost
import Synchronization
import SystemPackage

/// The records of the commands that run now, one file each in a directory beside the control socket.
///
/// If the daemon is killed, the next one finds the records, and ends the commands before its systems start. So a command
/// never runs twice at once, also without a service manager. Under systemd, the control group of the unit has the same
/// effect.
///
/// Nothing is recorded until ``start(beside:logger:)`` is called, which only a daemon does. The directory is created with
/// the first command. A lock on it excludes other daemons (flock(2)). A process has one daemon: a later call replaces the
/// directory.
package final class CommandRecords: Sendable {
    /// The records of this process.
    package static let shared = CommandRecords()

    /// An open and locked directory of records.
    struct Directory: Sendable {
        let path: String
        let descriptor: Int32
        let origin: CommandRecord.Origin

        /// A Boolean value that indicates whether the path still leads to this directory.
        var isInPlace: Bool {
            var (own, found) = (stat(), stat())
            return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0 && own.st_dev == found.st_dev
                && own.st_ino == found.st_ino
        }
    }

    /// The record of a running command.
    final class Open: Sendable {
        /// The ID of the run.
        let id: String
        private let path: String
        private let content: CommandRecord
        /// The descriptor of the file, until the second line is written; then -1.
        private let descriptor: Atomic<Int32>
        /// The group that could not be ended; 0 for none.
        private let leftBehind = Atomic<pid_t>(0)

        /// Creates the file with its first line. Throws if that fails.
        fileprivate init(_ content: CommandRecord, in directory: Directory) throws(SensingProblem) {
            self.content = content
            id = CommandRecord.newID()
            path = "\(directory.path)/\(id)"
            descriptor = Atomic(
                open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
            let number = CommandRecords.write(content.firstLine, to: descriptor.load(ordering: .relaxed))
            guard number != 0 else { return }
            unlink(path)
            throw SensingProblem("cannot write a file in \(directory.path)", Errno(rawValue: number))
        }

        deinit { closeFile() }

        /// Records the first process of the command, which must not have been reaped.
        func started(_ leader: pid_t) {
            // If this fails, the environment of the command shows its processes.
            if let leader = ProcessEntry(leader)?.identity {
                _ = CommandRecords.write(content.secondLine(leader), to: descriptor.load(ordering: .relaxed))
            }
            closeFile()
        }

        /// Keeps the record for the next daemon as long as members of the group run.
        func couldNotEnd(_ group: ProcessGroup) { leftBehind.store(group.leader, ordering: .relaxed) }

        /// Removes the record, because the command has ended.
        func ended() {
            let group = leftBehind.load(ordering: .relaxed)
            if group != 0, ProcessGroup(leader: group).hasLivingMembers { return }
            unlink(path)
        }

        private func closeFile() {
            let file = descriptor.exchange(-1, ordering: .relaxed)
            if file >= 0 { close(file) }
        }
    }

    /// The time that the previous daemon has to give the lock back, which it does last when it stops.
    private static let lockLimit = Duration.seconds(5)

    private struct State {
        /// The path of the directory; nil if nothing is recorded.
        var path: String?
        var directory: Directory?
        var hasWarned = false
    }

    private let state = Mutex(State())

    private init() {}

    /// Ends the commands of the previous daemon, and records those of this one from now on. Returns within some seconds.
    ///
    /// - Parameters:
    ///   - socket: The path of the control socket, which this daemon already serves.
    ///   - logger: Receives a message about each command that is found.
    package func start(beside socket: String, logger: Logger) async {
        let path = "\(socket).runs"
        stop()
        do {
            let directory = try await Blocking.call {
                Result { () throws(SensingProblem) in
                    try Self.directory(path, mayMake: false, lockLimit: Self.lockLimit)
                }
            }.get()
            state.withLock { ($0.path, $0.directory) = (path, directory) }
            if let directory { await PreviousCommands(directory: directory, logger: logger).end() }
        } catch {
            // Nothing is recorded in a directory with records that nobody has looked at.
            warn("\(error)", logger)
        }
    }

    /// Records nothing from now on, and removes the directory if it is empty.
    package func stop() {
        let last = state.withLock { state -> Directory? in
            defer { state = State() }
            return state.directory
        }
        guard let directory = last else { return }
        rmdir(directory.path)
        close(directory.descriptor)
    }

    /// Records a command that is about to start. Returns nil if commands are not recorded, or if that fails.
    func begin(_ program: String, in context: EffectContext) -> Open? {
        do throws(SensingProblem) {
            guard let directory = try directory(mayMake: true) else { return nil }
            return try Open(
                CommandRecord(
                    origin: directory.origin, system: context.system, feedback: context.feedback, program: program),
                in: directory)
        } catch {
            warn("\(error)", context.logger)
            return nil
        }
    }

    /// Returns the directory, and opens it if it is not open yet; nil if it does not exist.
    private func directory(mayMake: Bool) throws(SensingProblem) -> Directory? {
        try state.withLock { state -> Result<Directory?, SensingProblem> in
            guard let path = state.path else { return .success(nil) }
            if let directory = state.directory, directory.isInPlace { return .success(directory) }
            // Somebody has removed the directory, and perhaps made another one.
            if let directory = state.directory { close(directory.descriptor) }
            state.directory = nil
            let opened = Result { () throws(SensingProblem) in
                try Self.directory(path, mayMake: mayMake, lockLimit: .zero)
            }
            if case .success(let directory) = opened { state.directory = directory }
            return opened
        }.get()
    }

    private static func directory(
        _ path: String, mayMake: Bool, lockLimit: Duration
    ) throws(SensingProblem) -> Directory? {
        if mayMake, mkdir(path, 0o700) != 0, errno != EEXIST {
            throw SensingProblem("cannot make the directory \(path)", Errno(rawValue: errno))
        }
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if !mayMake, errno == ENOENT { return nil }
            throw SensingProblem("cannot open the directory \(path)", Errno(rawValue: errno))
        }
        do throws(SensingProblem) {
            return Directory(path: path, descriptor: descriptor, origin: try checked(path, descriptor, lockLimit))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Checks and locks an open directory. Returns the surroundings of this daemon.
    private static func checked(
        _ path: String, _ descriptor: Int32, _ lockLimit: Duration
    ) throws(SensingProblem) -> CommandRecord.Origin {
        var status = stat()
        // Otherwise another user could write a record, and let the daemon end any process.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else { throw SensingProblem("\(path) is not a directory that only the daemon's user can write; remove it") }
        let end = ContinuousClock.now + lockLimit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK, ContinuousClock.now < end else {
                throw SensingProblem("cannot lock \(path); another daemon may use it", Errno(rawValue: errno))
            }
            poll(nil, 0, 20)
        }
        guard let boot = ProcessEntry.text("/proc/sys/kernel/random/boot_id"), stat("/proc/self/ns/pid", &status) == 0
        else { throw SensingProblem("cannot read the ID of the boot or of the PID namespace in /proc") }
        return CommandRecord.Origin(
            boot: String(boot.prefix { $0 != "\n" }), namespace: UInt64(status.st_ino), session: getsid(0))
    }

    /// Writes a text to an open file. Returns an error number of errno(3); 0 for success.
    private static func write(_ text: String, to descriptor: Int32) -> Int32 {
        guard descriptor >= 0 else { return errno }
        var text = text
        let count = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        return count == text.utf8.count ? 0 : count < 0 ? errno : ENOSPC
    }

    /// Logs once that commands are not recorded.
    private func warn(_ problem: String, _ logger: Logger) {
        let isFirst = state.withLock { state -> Bool in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isFirst else { return }
        logger.warning(
            "commands are not recorded; if the daemon is killed, the next one cannot end them",
            metadata: .about(.commandsNotRecorded, ["reason": "\(problem)"]))
    }
}
