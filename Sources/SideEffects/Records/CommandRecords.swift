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
/// the first command. A lock on it excludes other daemons (flock(2)).
package final class CommandRecords: Sendable {
    /// The records of this process.
    package static let shared = CommandRecords()

    /// An open and locked directory of records.
    struct Directory: Sendable {
        let path: String
        let descriptor: Int32
        let origin: CommandRecord.Origin
    }

    /// The record of a running command.
    struct Open: Sendable {
        /// The ID of the run.
        let id: String
        fileprivate let path: String
        fileprivate let content: CommandRecord

        /// Records the first process of the command, which must not have been reaped.
        func started(_ leader: pid_t) {
            guard let leader = ProcessEntry(leader)?.identity else { return }
            // If this fails, the environment of the command shows its processes.
            _ = CommandRecords.write(content.secondLine(leader), to: path, O_APPEND)
        }

        /// Removes the record, because the command has ended.
        func ended() { unlink(path) }
    }

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
        state.withLock { $0.path = path }
        do throws(SensingProblem) {
            guard let directory = try directory(mayMake: false) else { return }
            await PreviousCommands(directory: directory, logger: logger).end()
        } catch {
            warn(error, logger)
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
            let id = CommandRecord.newID()
            let record = Open(
                id: id, path: "\(directory.path)/\(id)",
                content: CommandRecord(
                    origin: directory.origin, system: context.system, feedback: context.feedback, program: program))
            let number = Self.write(record.content.firstLine, to: record.path, O_CREAT | O_EXCL)
            guard number != 0 else { return record }
            record.ended()
            throw SensingProblem("cannot write a file in \(directory.path)", Errno(rawValue: number))
        } catch {
            warn(error, context.logger)
            return nil
        }
    }

    /// Returns the directory, and opens it if it is not open yet; nil if it does not exist.
    private func directory(mayMake: Bool) throws(SensingProblem) -> Directory? {
        try state.withLock { state -> Result<Directory?, SensingProblem> in
            guard let path = state.path else { return .success(nil) }
            if let directory = state.directory, access(path, F_OK) == 0 { return .success(directory) }
            // Somebody has removed the directory.
            if let directory = state.directory { close(directory.descriptor) }
            state.directory = nil
            let opened = Result { () throws(SensingProblem) in try Self.directory(path, mayMake: mayMake) }
            if case .success(let directory) = opened { state.directory = directory }
            return opened
        }.get()
    }

    private static func directory(_ path: String, mayMake: Bool) throws(SensingProblem) -> Directory? {
        if mayMake, mkdir(path, 0o700) != 0, errno != EEXIST {
            throw SensingProblem("cannot make the directory \(path)", Errno(rawValue: errno))
        }
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if !mayMake, errno == ENOENT { return nil }
            throw SensingProblem("cannot open the directory \(path)", Errno(rawValue: errno))
        }
        do throws(SensingProblem) {
            return Directory(path: path, descriptor: descriptor, origin: try checked(path, descriptor))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Checks and locks an open directory. Returns the surroundings of this daemon.
    private static func checked(_ path: String, _ descriptor: Int32) throws(SensingProblem) -> CommandRecord.Origin {
        var status = stat()
        // Otherwise another user could write a record, and let the daemon end any process.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else { throw SensingProblem("\(path) is not a directory that only the daemon's user can write; remove it") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw SensingProblem("cannot lock \(path); another daemon may use it", Errno(rawValue: errno))
        }
        guard let boot = ProcessEntry.text("/proc/sys/kernel/random/boot_id"), stat("/proc/self/ns/pid", &status) == 0
        else { throw SensingProblem("cannot read the ID of the boot or of the PID namespace in /proc") }
        return CommandRecord.Origin(
            boot: String(boot.prefix { $0 != "\n" }), namespace: UInt64(status.st_ino), session: getsid(0))
    }

    /// Opens a file, and writes a text to it. Returns an error number of errno(3); 0 for success.
    private static func write(_ text: String, to path: String, _ flags: Int32) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { return errno }
        var text = text
        let count = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let number = count == text.utf8.count ? 0 : count < 0 ? errno : ENOSPC
        close(descriptor)
        return number
    }

    /// Logs once that commands are not recorded.
    private func warn(_ problem: SensingProblem, _ logger: Logger) {
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
