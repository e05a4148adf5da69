public import CommonExpression
import CLinux
import FoundationEssentials
import Glibc
import Logging
public import MediatorConfiguration
public import MediatorHost
import Subprocess
import Synchronization
import SystemPackage

/// `run`: runs a command, without a shell in between.
///
/// The command gets a process group of its own, and the daemon's environment without the variables by which systemd talks to
/// the daemon. What it is given to read is a file in memory, so it may read as much of it as it likes, when it likes. When it is cancelled, or its `timeout` has passed, the whole group is
/// asked to end (`SIGTERM`), and what is left of it after a grace is killed (`SIGKILL`). The effect returns only when
/// the command has been reaped.
///
/// What a command leaves behind in its group when it ends by itself goes on: a command may start something that lasts.
public struct RunEffect: EffectImplementation {
    /// How long a line may be, in bytes; a longer one is cut there, and its rest is forgotten.
    public static let lineLimit = 16 * 1024
    /// How much is read when the command has ended and somebody else goes on writing, in bytes: more than a pipe holds.
    static let restLimit = 1024 * 1024

    /// How long a process group may take to end when asked, before it is killed.
    public let grace: Duration

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .run }

    /// The effect, with the given grace.
    public init(grace: Duration = .seconds(5)) {
        self.grace = grace
    }

    /// Runs the command once; reports `onLine` for each line of output while it runs, then `onSuccess` if it ended as is
    /// expected, else `onFailure`. A run that was cancelled reports nothing more.
    ///
    /// A failure for which the configuration has no rule is logged; and if the command could not even be started, it is
    /// a fault of the system.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        let command = arguments["command"]?.strings ?? []
        if let problem = Self.problem(command, arguments) {
            return finish(RunResult(error: problem), command, nil, context)
        }
        let ending = EndRequest()
        let (results, continuation) = AsyncStream<RunResult>.makeStream(bufferingPolicy: .bufferingOldest(1))
        // The command is run in a task of its own, which is never cancelled: ending a group in order takes time.
        Task.detached {
            continuation.yield(
                await self.result(of: command[0], Array(command.dropFirst()), arguments, context, ending) {
                    // What cannot be ended is left behind rather than waited for.
                    continuation.yield($0)
                })
        }
        let result = await withTaskCancellationHandler {
            await Task.detached {
                for await result in results { return result }
                preconditionFailure("a stream that is not finished has an element")
            }.value
        } onCancel: {
            ending.request(.cancelled)
        }
        finish(result, command, ending.reason, context)
    }

    private func finish(
        _ result: RunResult, _ command: [String], _ reason: EndRequest.Reason?, _ context: EffectContext
    ) {
        let program = command.first ?? ""
        if reason == .cancelled {
            if result.isAbandoned {
                context.logger.error(
                    "\(result.error)", metadata: .about(.leftBehind, ["command": "\(program)"]))
            }
            return
        }
        let outcome = result.isSuccess ? "onSuccess" : "onFailure"
        var metadata: Logger.Metadata = [
            "command": "\(program)", "exit": "\(result.exitCode)", "signal": "\(result.signalName)",
        ]
        // A command that was told a secret may say it.
        if !context.isConfidential { metadata["error"] = "\(result.error.prefix { $0 != "\n" })" }
        context.logger.debug("command ended", metadata: metadata)
        let isHandled = context.report(outcome, result.value(for: schema, outcome))
        guard outcome == "onFailure", !isHandled else { return }
        if result.hasRun {
            context.logger.warning(
                "command failed, and there is no onFailure for it", metadata: metadata.about(.effectFailed))
        } else {
            context.fail(result.error)
        }
    }

    /// What is wrong with the arguments, if anything. The system ends a text at its first NUL: what was checked would not
    /// be what is done.
    private static func problem(_ command: [String], _ arguments: [String: Value]) -> String? {
        guard let program = command.first, !program.isEmpty else { return "the command is empty" }
        let environment = arguments["environment"]?.stringMap ?? [:]
        let texts = command + [arguments["directory"]?.text ?? ""] + environment.flatMap { [$0.key, $0.value] }
        if texts.contains(where: { $0.utf8.contains(0) }) {
            return "\(program): a command, its directory and its environment cannot contain NUL"
        }
        if let name = environment.keys.first(where: { $0.isEmpty || $0.contains("=") }) {
            return "\(program): '\(name)' cannot name an environment variable"
        }
        return nil
    }

    private func result(
        of program: String, _ rest: [String], _ arguments: [String: Value], _ context: EffectContext,
        _ ending: EndRequest, abandon: @escaping @Sendable (RunResult) -> Void
    ) async -> RunResult {
        if ending.reason != nil { return RunResult(error: "cancelled") }
        let isJSON = arguments["output"]?.text == "json"
        let limit = arguments["maxOutput"]?.whole ?? 64 * 1024
        let (output, errors) = (OutputCollector(limit: limit), OutputCollector(limit: limit))
        let lines = lines(arguments, context, ending)
        do {
            let account = try await Self.account(arguments)
            var options = PlatformOptions()
            options.processGroupID = 0
            let directory = arguments["directory"]?.text
            let command = account?.command(program, rest, in: directory) ?? [program] + rest
            guard let place = DescriptorReserve.enter() else {
                return RunResult(error: "\(program): the daemon has too many files open to begin a command")
            }
            try Poller.shared.prepare()
            let files = try CommandFiles(input: arguments["input"]?.text)
            defer { files.closeOurs() }
            let ended = try await Subprocess.run(
                command[0].contains("/") ? .path(FilePath(command[0])) : .name(command[0]),
                arguments: Arguments(Array(command.dropFirst())),
                environment: .inherit.updating(Self.environment(account, arguments)),
                workingDirectory: account == nil ? directory.map { FilePath($0) } : nil,
                platformOptions: options,
                input: .fileDescriptor(files.input, closeAfterSpawningProcess: true),
                output: .fileDescriptor(files.outputEnd, closeAfterSpawningProcess: true),
                error: .fileDescriptor(files.errorsEnd, closeAfterSpawningProcess: true)
            ) { execution in
                place.leave()
                let group = ProcessGroup(leader: execution.processIdentifier.value)
                let leader = execution.processIdentifier.processDescriptor
                guard leader >= 0 else {
                    // Nobody would hear of its end, not even the library, which then waits for ever.
                    kill(-group.leader, SIGKILL)
                    files.closeOurs()
                    abandon(
                        RunResult(
                            error:
                                "\(program): its end cannot be watched, so it was killed: the daemon has too many files "
                                + "open, or the system has no pidfd_open(2)"))
                    return
                }
                await withTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        let hasEnded = await end(
                            group, when: ending, after: arguments["timeout"]?.swiftDuration, context)
                        if hasEnded { return }
                        var result = RunResult(
                            error:
                                "\(program): it could not be ended, and was left behind (process group \(group.leader))"
                        )
                        (result.output, result.isCut, result.isAbandoned) = (output.text, output.isCut, true)
                        abandon(result)
                    }
                    let exit = CommandExit()
                    await withTaskGroup(of: Void.self) { readers in
                        readers.addTask { await read(files.output, into: output, lines, until: exit, context.clock) }
                        readers.addTask { await read(files.errors, into: errors, nil, until: exit, context.clock) }
                        // A command may close its output, and go on; and leave it to somebody who holds it open.
                        while await !Self.isReadable(leader, context.clock) {}
                        exit.note()
                        readers.cancelAll()
                    }
                    // Until this closure returns the command is not reaped, so its process group cannot be mistaken for
                    // another's.
                    if ending.finish() { tasks.cancelAll() }
                }
            }
            lines.finish()
            return RunResult(
                ended.terminationStatus, output, errors,
                expected: arguments["expect"]?.text.flatMap { ExitStatuses($0) } ?? Self.exitedWell, json: isJSON,
                ending.reason)
        } catch {
            var result = RunResult(
                error: "\(program): \(Self.describe(error, arguments["user"] == nil ? program : Account.program))")
            (result.output, result.isCut) = (output.text, output.isCut)
            return result
        }
    }

    /// What takes the lines of the output.
    private func lines(_ arguments: [String: Value], _ context: EffectContext, _ ending: EndRequest) -> LineSplitter {
        let isJSON = arguments["output"]?.text == "jsonLines"
        return LineSplitter(limit: Self.lineLimit) { line, number in
            guard ending.reason == nil else { return false }
            let json = isJSON ? (try? StrictJSON.value(of: line)) ?? .null : .null
            let fields = [.string(String(decoding: line, as: UTF8.self)), Value.int(Int64(number)), json]
            return context.report("onLine", RunResult.structure(for: schema, "onLine", fields))
        }
    }

    /// The account as which the command runs; nil: the daemon's.
    private static func account(_ arguments: [String: Value]) async throws -> Account? {
        guard let user = arguments["user"]?.text else { return nil }
        let group = arguments["group"]?.text
        // The databases of accounts may lie behind a network.
        return try await Blocking.call {
            Result { () throws(SensingProblem) in try Account.find(user, group: group) }
        }.get()
    }

    private static func environment(
        _ account: Account?, _ arguments: [String: Value]
    ) -> [Subprocess.Environment.Key: String?] {
        var environment = hiddenVariables
        for (name, value) in account?.environment ?? [:] {
            environment.updateValue(value, forKey: Subprocess.Environment.Key(stringLiteral: name))
        }
        for (name, value) in arguments["environment"]?.stringMap ?? [:] {
            environment.updateValue(value, forKey: Subprocess.Environment.Key(stringLiteral: name))
        }
        return environment
    }

    /// What is expected where nothing else is said.
    private static let exitedWell: ExitStatuses = {
        guard let statuses = ExitStatuses("0") else { preconditionFailure("0 is an exit code") }
        return statuses
    }()

    /// Waits until the end is requested or the time is up, then ends the group: gently, then by force. `false`: a member
    /// is still alive, because it may not be signalled, or because the kernel holds it.
    private func end(
        _ group: ProcessGroup, when ending: EndRequest, after timeout: Duration?, _ context: EffectContext
    ) async -> Bool {
        if let timeout {
            await withTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await ending.requested() }
                tasks.addTask {
                    if (try? await context.clock.sleep(for: timeout)) != nil { ending.request(.timedOut) }
                }
                await tasks.next()
                tasks.cancelAll()
            }
        } else {
            await ending.requested()
        }
        guard ending.reason != nil else { return true }
        // Ending the group must not be cut short: it runs in a task that nobody cancels.
        let grace = grace
        return await Task.detached { await group.end(within: grace) }.value
    }

    /// Reads to the end; once the command has ended, no more than what it has left in the pipe.
    private func read(
        _ descriptor: FileDescriptor, into collector: OutputCollector, _ lines: LineSplitter?, until exit: CommandExit,
        _ clock: any Clock<Duration>
    ) async {
        var rest = Self.restLimit
        while true {
            // Looked at before reading: all that it wrote is then there to be read.
            let hasEnded = exit.hasBeenNoted
            let count = CommandFiles.read(descriptor) { bytes in
                collector.add(bytes)
                lines?.add(bytes)
            }
            guard let count else {
                if hasEnded { return }
                _ = await Self.isReadable(descriptor.rawValue, clock)
                continue
            }
            if count == 0 { return }
            // What comes beyond what a pipe holds is of somebody else who goes on writing.
            if hasEnded { rest -= count }
            if rest <= 0 { return }
            await Task.yield()
        }
    }

    /// Waits until there is something to read, or the task is cancelled, or a moment has passed and it must be looked at again.
    private static func isReadable(_ descriptor: Int32, _ clock: any Clock<Duration>) async -> Bool {
        do {
            try await Poller.shared.readable(descriptor)
            return true
        } catch {
            // Where the kernel cannot watch one more, we look again ourselves.
            if !(error is CancellationError) { try? await clock.sleep(for: .milliseconds(100)) }
            return false
        }
    }

    /// What systemd says to the daemon is not for its commands.
    private static let hiddenVariables: [Subprocess.Environment.Key: String?] = [
        "NOTIFY_SOCKET": nil, "WATCHDOG_PID": nil, "WATCHDOG_USEC": nil, "LISTEN_PID": nil, "LISTEN_FDS": nil,
        "LISTEN_FDNAMES": nil,
    ]

    private static func describe(_ error: any Error, _ program: String) -> String {
        if let problem = error as? SensingProblem { return problem.message }
        guard let error = error as? SubprocessError else { return "\(error)" }
        switch error.code {
        case .executableNotFound where program.contains("/") && access(program, F_OK) == 0:
            return "may not be executed; check its permissions, and that it is a program"
        case .executableNotFound: return "no such command; check the spelling, or give its full path"
        case .failedToChangeWorkingDirectory: return "cannot change to its directory"
        default: return error.underlyingError.map { "cannot be started: \($0)" } ?? "\(error)"
        }
    }
}

/// Whether a command has ended, though others may hold its output open.
private final class CommandExit: Sendable {
    private let isOver = Atomic(false)

    var hasBeenNoted: Bool { isOver.load(ordering: .acquiring) }

    func note() {
        isOver.store(true, ordering: .releasing)
    }
}

extension Value {
    /// The strings of a list.
    fileprivate var strings: [String]? {
        guard case .list(let elements) = self else { return nil }
        return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// The strings of a map.
    var stringMap: [String: String] {
        guard case .map(let entries) = self else { return [:] }
        var result: [String: String] = [:]
        for case (.string(let key), .string(let value)) in entries { result[key] = value }
        return result
    }

    var swiftDuration: Duration? {
        if case .duration(let span) = self { span.swiftDuration } else { nil }
    }
}
