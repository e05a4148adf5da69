public import CommonExpression
import Glibc
import Logging
public import MediatorConfiguration
public import MediatorHost
import Subprocess
import Synchronization
import SystemPackage

/// `run`: runs a command, without a shell in between.
///
/// The command gets a process group of its own, an empty standard input, and the daemon's environment without the
/// variables by which systemd talks to the daemon. When it is cancelled, or its `timeout` has passed, the whole group is
/// asked to end (`SIGTERM`), and what is left of it after a grace is killed (`SIGKILL`). The effect returns only when
/// the command has been reaped.
///
/// What a command leaves behind in its group when it ends by itself goes on: a command may start something that lasts.
public struct RunEffect: EffectImplementation {
    /// How many bytes of each of output and errors are kept for the result; the rest is read and forgotten.
    public static let outputLimit = 64 * 1024
    /// How long a line may be, in bytes; a longer one is cut there, and its rest is forgotten.
    public static let lineLimit = 16 * 1024

    /// How long a process group may take to end when asked, before it is killed.
    public let grace: Duration

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .run }

    /// The effect, with the given grace.
    public init(grace: Duration = .seconds(5)) {
        self.grace = grace
    }

    /// Runs the command once; reports `onLine` for each line of output while it runs, then `onSuccess` if it exited
    /// with 0, else `onFailure`. A run that was cancelled reports nothing more.
    ///
    /// A failure for which the configuration has no rule is logged; and if the command could not even be started, it is
    /// a fault of the system.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        let command = arguments["command"]?.strings ?? []
        if let problem = Self.problem(command, arguments) {
            return finish(RunResult(exitCode: -1, signal: 0, output: "", error: problem), command, nil, context)
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
            if result.isAbandoned { context.logger.error("\(result.error)", metadata: ["command": "\(program)"]) }
            return
        }
        let outcome = result.exitCode == 0 && reason == nil ? "onSuccess" : "onFailure"
        let metadata: Logger.Metadata = [
            "command": "\(program)", "exit": "\(result.exitCode)", "signal": "\(result.signal)",
            "error": "\(result.error.prefix { $0 != "\n" })",
        ]
        context.logger.debug("command ended", metadata: metadata)
        let isHandled = context.report(outcome, result.value(for: schema, outcome))
        guard outcome == "onFailure", !isHandled else { return }
        if result.hasRun {
            context.logger.warning("command failed, and there is no onFailure for it", metadata: metadata)
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
        if ending.reason != nil { return RunResult(exitCode: -1, signal: 0, output: "", error: "cancelled") }
        var options = PlatformOptions()
        options.processGroupID = 0
        var environment: [Subprocess.Environment.Key: String?] = Self.hiddenVariables
        for (name, value) in arguments["environment"]?.stringMap ?? [:] {
            environment[Subprocess.Environment.Key(stringLiteral: name)] = value
        }
        let output = OutputCollector(limit: Self.outputLimit)
        let errors = OutputCollector(limit: Self.outputLimit)
        let lines = LineSplitter(limit: Self.lineLimit) { line, number in
            guard ending.reason == nil else { return }
            let result = [Value.string(line), .int(Int64(number))]
            context.report("onLine", RunResult.structure(for: schema, "onLine", result))
        }
        do {
            let ended = try await Subprocess.run(
                program.contains("/") ? .path(FilePath(program)) : .name(program),
                arguments: Arguments(rest),
                environment: .inherit.updating(environment),
                workingDirectory: arguments["directory"]?.text.map { FilePath($0) },
                platformOptions: options,
                input: .none,
                output: .sequence,
                error: .sequence
            ) { execution in
                let group = ProcessGroup(leader: execution.processIdentifier.value)
                await withTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        let hasEnded = await end(
                            group, when: ending, after: arguments["timeout"]?.swiftDuration, context)
                        if hasEnded { return }
                        let message =
                            "\(program): it could not be ended, and was left behind (process group \(group.leader))"
                        abandon(
                            RunResult(exitCode: -1, signal: 0, output: output.text, error: message, isAbandoned: true))
                    }
                    await withTaskGroup(of: Void.self) { readers in
                        readers.addTask { await read(execution.standardOutput, into: output, lines) }
                        readers.addTask { await read(execution.standardError, into: errors, nil) }
                    }
                    // The output ends when the command has ended, even if someone else still holds it open. Until this
                    // closure returns the command is not reaped, so its process group cannot be mistaken for another's.
                    if ending.finish() { tasks.cancelAll() }
                }
            }
            lines.finish()
            return RunResult(ended.terminationStatus, output.text, errors.text, ending.reason)
        } catch {
            return RunResult(
                exitCode: -1, signal: 0, output: output.text, error: "\(program): \(Self.describe(error, program))")
        }
    }

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

    private func read(
        _ sequence: SubprocessOutputSequence, into collector: OutputCollector, _ lines: LineSplitter?
    ) async {
        do {
            for try await buffer in sequence {
                buffer.withUnsafeBytes { bytes in
                    collector.add(bytes)
                    lines?.add(bytes)
                }
            }
        } catch {
            // Reading ends early when the command has ended while somebody else still holds its output open.
        }
    }

    /// What systemd says to the daemon is not for its commands.
    private static let hiddenVariables: [Subprocess.Environment.Key: String?] = [
        "NOTIFY_SOCKET": nil, "WATCHDOG_PID": nil, "WATCHDOG_USEC": nil, "LISTEN_PID": nil, "LISTEN_FDS": nil,
        "LISTEN_FDNAMES": nil,
    ]

    private static func describe(_ error: any Error, _ program: String) -> String {
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

/// How a command ended.
struct RunResult: Sendable {
    var exitCode: Int
    var signal: Int
    var output: String
    var error: String
    /// Whether there was a process at all.
    var hasRun = false
    /// Whether it still runs.
    var isAbandoned = false

    init(exitCode: Int, signal: Int, output: String, error: String, isAbandoned: Bool = false) {
        self.isAbandoned = isAbandoned
        self.exitCode = exitCode
        self.signal = signal
        self.output = output
        self.error = error
    }

    init(_ status: TerminationStatus, _ output: String, _ error: String, _ reason: EndRequest.Reason?) {
        switch status {
        case .exited(let code): self.init(exitCode: Int(code), signal: 0, output: output, error: error)
        case .signaled(let signal): self.init(exitCode: -1, signal: Int(signal), output: output, error: error)
        }
        hasRun = true
        if reason == .timedOut { self.error = "its time was up" + (error.isEmpty ? "" : "; it had said: \(error)") }
    }

    /// As a structure of an outcome's type.
    func value(for schema: EffectSchema, _ outcome: String) -> Value {
        Self.structure(
            for: schema, outcome, [.int(Int64(exitCode)), .int(Int64(signal)), .string(output), .string(error)])
    }

    static func structure(for schema: EffectSchema, _ outcome: String, _ fields: [Value]) -> Value {
        guard let type = schema.outcomes.first(where: { $0.name == outcome })?.result else {
            preconditionFailure("\(schema.name) has no outcome \(outcome)")
        }
        return .structure(Structure(type: type, fields: fields))
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
