import CLinux
import Glibc
import MediatorHost
import Subprocess
import Synchronization
import SystemPackage

/// The end of a command that ``CommandRunner`` ran.
enum CommandEnd: Sendable {
    /// The command ended and was reaped.
    case ended(TerminationStatus)
    /// The program does not exist.
    case missing
    /// The command did not start, or the daemon could not watch it.
    case failed(String)
    /// The command could not be ended and still runs.
    case leftBehind(String)
}

/// A command that runs without a shell, in its own process group.
///
/// The command has the daemon's environment without systemd's variables for the daemon, and with the ID of its
/// ``CommandRecord``. Its input is a file in memory, so the command may read it at any speed or not at all.
///
/// If the end is requested or the time limit passes, the group receives `SIGTERM`. After a grace period the remaining
/// members are killed (`SIGKILL`). If the command ends by itself, other processes in its group continue, because a
/// command may start a long-running process.
struct CommandRunner: Sendable {
    /// The bytes that are read after the command has ended and another process still writes: more than a pipe holds.
    static let restLimit = 1024 * 1024

    let program: String
    let arguments: [String]
    /// Environment variables in addition to the daemon's.
    var environment: [String: String] = [:]
    var directory: String?
    var input: String?
    /// The account of the command; nil for the daemon's.
    var user: String?
    var group: String?
    /// The time limit of the command; nil for none.
    var timeout: Duration?
    /// The time for a process group to end before it is killed.
    let grace: Duration
    /// The environment of the side effect that runs the command.
    let context: EffectContext

    private var clock: any Clock<Duration> { context.clock }

    /// A function that reads an output of the command until its end.
    typealias Reader = @Sendable (inout CommandPipe) async -> Void

    /// Runs the command once, and returns when it has been reaped or left behind. Cancelling the task requests the end.
    func run(_ ending: EndRequest, output: @escaping Reader, errors: @escaping Reader) async -> CommandEnd {
        let (ends, continuation) = AsyncStream<CommandEnd>.makeStream(bufferingPolicy: .bufferingOldest(1))
        // The command runs in a separate task that is never cancelled, because ending a group takes several steps.
        Task.detached {
            // This function does not wait for processes that cannot be ended.
            continuation.yield(await self.end(ending, output, errors) { continuation.yield($0) })
        }
        return await withTaskCancellationHandler {
            await Task.detached {
                for await end in ends { return end }
                preconditionFailure("a stream that is not finished has an element")
            }.value
        } onCancel: {
            ending.request(.cancelled)
        }
    }

    private func end(
        _ ending: EndRequest, _ output: @escaping Reader, _ errors: @escaping Reader,
        abandon: @escaping @Sendable (CommandEnd) -> Void
    ) async -> CommandEnd {
        if ending.reason != nil { return .failed("cancelled") }
        do {
            let account = try await account()
            var options = PlatformOptions()
            options.processGroupID = 0
            let command = account?.command(program, arguments, in: directory) ?? [program] + arguments
            guard let place = DescriptorReserve.enter() else {
                return .failed("\(program): cannot start the command: the daemon has too many open files")
            }
            try await CommandThreads.prepare()
            let files = try CommandFiles(input: input)
            defer { files.closeOurs() }
            // After a stop nothing would record the command.
            if ending.reason != nil { return .failed("cancelled") }
            let record = CommandRecords.shared.begin(program, in: context)
            defer { record?.ended() }
            let ended = try await Subprocess.run(
                command[0].contains("/") ? .path(FilePath(command[0])) : .name(command[0]),
                arguments: Arguments(Array(command.dropFirst())),
                environment: .inherit.updating(variables(account, record)),
                workingDirectory: account == nil ? directory.map { FilePath($0) } : nil,
                platformOptions: options,
                input: .fileDescriptor(files.input, closeAfterSpawningProcess: true),
                output: .fileDescriptor(files.outputEnd, closeAfterSpawningProcess: true),
                error: .fileDescriptor(files.errorsEnd, closeAfterSpawningProcess: true)
            ) { execution in
                place.leave()
                let group = ProcessGroup(leader: execution.processIdentifier.value)
                record?.started(group.leader)
                let leader = execution.processIdentifier.processDescriptor
                guard leader >= 0 else {
                    // Nothing would notice the end of the command, and the library would wait forever.
                    kill(-group.leader, SIGKILL)
                    files.closeOurs()
                    abandon(
                        .failed(
                            "\(program): its end cannot be watched, so it was killed: the daemon has too many files "
                                + "open, or the system has no pidfd_open(2)"))
                    return
                }
                await withTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        if await end(group, when: ending) { return }
                        record?.couldNotEnd(group)
                        abandon(
                            .leftBehind(
                                "\(program): could not be ended and still runs (process group \(group.leader))"))
                    }
                    let exit = CommandExit()
                    await withTaskGroup(of: Void.self) { readers in
                        for (descriptor, reader) in [(files.output, output), (files.errors, errors)] {
                            readers.addTask {
                                var pipe = CommandPipe(descriptor, exit, clock)
                                await reader(&pipe)
                            }
                        }
                        // A command may close its output and continue, or leave it open in another process.
                        while await !CommandPipe.isReadable(leader, clock) {}
                        exit.note()
                        readers.cancelAll()
                    }
                    // The command is not reaped until this closure returns, so no other process group can have its
                    // number.
                    if ending.finish() { tasks.cancelAll() }
                }
            }
            return .ended(ended.terminationStatus)
        } catch {
            let started = user == nil ? program : Account.program
            let isThere = started.contains("/") && access(started, F_OK) == 0
            if !isThere, (error as? SubprocessError)?.code == .executableNotFound { return .missing }
            return .failed("\(program): \(Self.describe(error))")
        }
    }

    private func account() async throws -> Account? {
        guard let user else { return nil }
        // The user database may be on a network.
        return try await Blocking.call { [group] in
            Result { () throws(SensingProblem) in try Account.find(user, group: group) }
        }.get()
    }

    private func variables(
        _ account: Account?, _ record: CommandRecords.Open?
    ) -> [Subprocess.Environment.Key: String?] {
        var variables = Self.hiddenVariables
        for (name, value) in account?.environment ?? [:] {
            variables.updateValue(value, forKey: Subprocess.Environment.Key(stringLiteral: name))
        }
        for (name, value) in environment {
            variables.updateValue(value, forKey: Subprocess.Environment.Key(stringLiteral: name))
        }
        if let record {
            variables.updateValue(record.id, forKey: Subprocess.Environment.Key(stringLiteral: CommandRecord.variable))
        }
        return variables
    }

    /// Waits until the end is requested or the time limit passes, then ends the group, at first with `SIGTERM`. Returns
    /// `false` if a member is still alive, because it may not be signalled or the kernel delays it.
    private func end(_ group: ProcessGroup, when ending: EndRequest) async -> Bool {
        if let timeout {
            await withTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await ending.requested() }
                tasks.addTask {
                    if (try? await clock.sleep(for: timeout)) != nil { ending.request(.timedOut) }
                }
                await tasks.next()
                tasks.cancelAll()
            }
        } else {
            await ending.requested()
        }
        guard ending.reason != nil else { return true }
        // Ending the group must not be interrupted, so it runs in a task that nobody cancels.
        let grace = grace
        return await Task.detached { await group.end(within: grace) }.value
    }

    /// The variables that are for the daemon alone: those of systemd, and the place of its store.
    private static let hiddenVariables: [Subprocess.Environment.Key: String?] = [
        "NOTIFY_SOCKET": nil, "WATCHDOG_PID": nil, "WATCHDOG_USEC": nil, "LISTEN_PID": nil, "LISTEN_FDS": nil,
        "LISTEN_FDNAMES": nil, "MEDIATORD_STORE": nil,
    ]

    private static func describe(_ error: any Error) -> String {
        if let problem = error as? SensingProblem { return problem.message }
        guard let error = error as? SubprocessError else { return "\(error)" }
        switch error.code {
        case .executableNotFound: return "cannot be executed; check its permissions and that it is a program"
        case .failedToChangeWorkingDirectory: return "cannot change to its directory"
        default: return error.underlyingError.map { "cannot be started: \($0)" } ?? "\(error)"
        }
    }
}

/// Records whether a command has ended, even if other processes hold its output open.
private final class CommandExit: Sendable {
    private let isOver = Atomic(false)

    var hasBeenNoted: Bool { isOver.load(ordering: .acquiring) }

    func note() {
        isOver.store(true, ordering: .releasing)
    }
}

/// The reading end of a command's output.
///
/// If a reader does not ask for the next piece, the pipe becomes full and the command waits.
struct CommandPipe {
    /// The result of reading.
    enum Piece {
        /// Bytes, at most 16 KiB.
        case bytes([UInt8])
        /// The limit passed before bytes were available.
        case timeUp
        /// The end of the output. After the command has ended, that is the end of the bytes that it left in the pipe.
        case end
    }

    private let descriptor: FileDescriptor
    private let exit: CommandExit
    private let clock: any Clock<Duration>
    private var rest = CommandRunner.restLimit

    fileprivate init(_ descriptor: FileDescriptor, _ exit: CommandExit, _ clock: any Clock<Duration>) {
        self.descriptor = descriptor
        self.exit = exit
        self.clock = clock
    }

    /// Waits for the next piece, up to a limit.
    mutating func next(within limit: Duration? = nil) async -> Piece {
        while rest > 0 {
            // This check comes before reading, so that all output of the ended command is already in the pipe.
            let hasEnded = exit.hasBeenNoted
            var bytes: [UInt8] = []
            guard let count = CommandFiles.read(descriptor, { bytes = Array($0) }) else {
                if hasEnded { return .end }
                let isReadable = await Self.isReadable(descriptor.rawValue, clock, within: limit)
                if limit != nil, !isReadable, !exit.hasBeenNoted { return .timeUp }
                continue
            }
            if count == 0 { return .end }
            // More bytes than a pipe holds come from another process.
            if hasEnded { rest -= count }
            await Task.yield()
            return .bytes(bytes)
        }
        return .end
    }

    /// Waits until bytes are available, the task is cancelled, or the limit has passed. Returns false if the caller
    /// must check again.
    fileprivate static func isReadable(
        _ descriptor: Int32, _ clock: any Clock<Duration>, within limit: Duration? = nil
    ) async -> Bool {
        do {
            if let limit { return try await Poller.shared.readable(descriptor, within: limit, clock: clock) }
            try await Poller.shared.readable(descriptor)
            return true
        } catch {
            // If the kernel cannot watch another descriptor, the function polls.
            if !(error is CancellationError) { try? await clock.sleep(for: .milliseconds(100)) }
            return false
        }
    }
}
