public import CommonExpression
import CLinux
import Glibc
import Logging
public import MediatorConfiguration
public import MediatorHost
import Subprocess
import Synchronization
import SystemPackage

/// The side effect `run`: runs a command without a shell.
///
/// The command has its own process group, and the daemon's environment without systemd's variables for the daemon. Its
/// input is a file in memory, so the command may read it at any speed or not at all.
///
/// If the effect is cancelled or `timeout` passes, the group receives `SIGTERM`. After a grace period the remaining
/// members are killed (`SIGKILL`). The effect returns only when the command has been reaped. If the command ends by
/// itself, other processes in its group continue, because a command may start a long-running process.
public struct RunEffect: EffectImplementation {
    /// The longest line, in bytes. The rest of a longer line is discarded.
    public static let lineLimit = 16 * 1024
    /// The bytes that are read after the command has ended and another process still writes: more than a pipe holds.
    static let restLimit = 1024 * 1024

    /// The time for a process group to end before it is killed.
    public let grace: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .run }

    /// Creates the side effect with a grace period.
    public init(grace: Duration = .seconds(5)) {
        self.grace = grace
    }

    /// Runs the command once. Reports `onLine` for each line of output while it runs, then `onSuccess` if it ended as
    /// expected, otherwise `onFailure`. A cancelled run reports nothing more.
    ///
    /// A failure without a rule in the configuration is logged. If the command could not start, that is also a fault of
    /// the system.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        let command = arguments["command"]?.strings ?? []
        if let problem = Self.problem(command, arguments) {
            return finish(RunResult(error: problem), command, nil, context)
        }
        let ending = EndRequest()
        let (results, continuation) = AsyncStream<RunResult>.makeStream(bufferingPolicy: .bufferingOldest(1))
        // The command runs in a separate task that is never cancelled, because ending a group takes several steps.
        Task.detached {
            continuation.yield(
                await self.result(of: command[0], Array(command.dropFirst()), arguments, context, ending) {
                    // The effect does not wait for processes that cannot be ended.
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
        // The command's error output may contain a secret that it received.
        if !context.isConfidential { metadata["error"] = "\(result.error.prefix { $0 != "\n" })" }
        context.logger.debug("command ended", metadata: metadata)
        let isHandled = context.report(outcome, result.value(for: schema, outcome))
        guard outcome == "onFailure", !isHandled else { return }
        if result.hasRun {
            context.logger.warning(
                "command failed and no onFailure handles it", metadata: metadata.about(.effectFailed))
        } else {
            context.fail(result.error)
        }
    }

    /// Returns the problem with the arguments, if any. The system ends a text at its first NUL, so it would run
    /// something other than the checked text.
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
                return RunResult(error: "\(program): cannot start the command: the daemon has too many open files")
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
                    // Nothing would notice the end of the command, and the library would wait forever.
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
                                "\(program): could not be ended and still runs (process group \(group.leader))"
                        )
                        (result.output, result.isCut, result.isAbandoned) = (output.text, output.isCut, true)
                        abandon(result)
                    }
                    let exit = CommandExit()
                    await withTaskGroup(of: Void.self) { readers in
                        readers.addTask { await read(files.output, into: output, lines, until: exit, context.clock) }
                        readers.addTask { await read(files.errors, into: errors, nil, until: exit, context.clock) }
                        // A command may close its output and continue, or leave it open in another process.
                        while await !Self.isReadable(leader, context.clock) {}
                        exit.note()
                        readers.cancelAll()
                    }
                    // The command is not reaped until this closure returns, so no other process group can have its
                    // number.
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

    /// Returns the receiver of the output's lines.
    private func lines(_ arguments: [String: Value], _ context: EffectContext, _ ending: EndRequest) -> OutputLines {
        let isJSON = arguments["output"]?.text == "jsonLines"
        return OutputLines(limit: Self.lineLimit) { line, number in
            guard ending.reason == nil else { return false }
            let json = isJSON ? (try? Value(parsingJSON: line)) ?? .null : .null
            let fields = [.string(String(decoding: line, as: UTF8.self)), Value.int(Int64(number)), json]
            return context.report("onLine", RunResult.structure(for: schema, "onLine", fields))
        }
    }

    /// Returns the account of the command; nil for that of the daemon.
    private static func account(_ arguments: [String: Value]) async throws -> Account? {
        guard let user = arguments["user"]?.text else { return nil }
        let group = arguments["group"]?.text
        // The user database may be on a network.
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

    /// The expected exit statuses if the configuration gives none.
    private static let exitedWell: ExitStatuses = {
        guard let statuses = ExitStatuses("0") else { preconditionFailure("0 is an exit code") }
        return statuses
    }()

    /// Waits until the end is requested or the time limit passes, then ends the group, at first with `SIGTERM`. Returns
    /// `false` if a member is still alive, because it may not be signalled or the kernel delays it.
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
        // Ending the group must not be interrupted, so it runs in a task that nobody cancels.
        let grace = grace
        return await Task.detached { await group.end(within: grace) }.value
    }

    /// Reads to the end. After the command has ended, reads only the bytes that it left in the pipe.
    private func read(
        _ descriptor: FileDescriptor, into collector: OutputCollector, _ lines: OutputLines?, until exit: CommandExit,
        _ clock: any Clock<Duration>
    ) async {
        var rest = Self.restLimit
        while true {
            // This check comes before reading, so that all output of the ended command is already in the pipe.
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
            // More bytes than a pipe holds come from another process.
            if hasEnded { rest -= count }
            if rest <= 0 { return }
            await Task.yield()
        }
    }

    /// Waits until bytes are available, the task is cancelled, or an interval has passed. Returns false if the caller
    /// must check again.
    private static func isReadable(_ descriptor: Int32, _ clock: any Clock<Duration>) async -> Bool {
        do {
            try await Poller.shared.readable(descriptor)
            return true
        } catch {
            // If the kernel cannot watch another descriptor, the function polls.
            if !(error is CancellationError) { try? await clock.sleep(for: .milliseconds(100)) }
            return false
        }
    }

    /// The variables with which systemd addresses the daemon, not its commands.
    private static let hiddenVariables: [Subprocess.Environment.Key: String?] = [
        "NOTIFY_SOCKET": nil, "WATCHDOG_PID": nil, "WATCHDOG_USEC": nil, "LISTEN_PID": nil, "LISTEN_FDS": nil,
        "LISTEN_FDNAMES": nil,
    ]

    private static func describe(_ error: any Error, _ program: String) -> String {
        if let problem = error as? SensingProblem { return problem.message }
        guard let error = error as? SubprocessError else { return "\(error)" }
        switch error.code {
        case .executableNotFound where program.contains("/") && access(program, F_OK) == 0:
            return "cannot be executed; check its permissions and that it is a program"
        case .executableNotFound: return "no such command; check the spelling, or give its full path"
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
