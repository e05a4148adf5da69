public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost

/// The side effect `run`: runs a command without a shell.
///
/// ``CommandRunner`` runs the command. If the effect is cancelled or `timeout` passes, it ends the whole process group
/// of the command. The effect returns only when the command has been reaped.
public struct RunEffect: EffectImplementation {
    /// The longest line, in bytes. The rest of a longer line is discarded.
    public static let lineLimit = 16 * 1024

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
    /// A failure without a rule in the configuration is logged, and so is each command that could not start. Without a rule,
    /// that is also a fault of the system.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        let command = arguments["command"]?.strings ?? []
        if let problem = Self.problem(command, arguments) {
            return finish(RunResult(error: problem), command, nil, context)
        }
        let ending = EndRequest()
        let result = await result(of: command[0], Array(command.dropFirst()), arguments, context, ending)
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
        guard outcome == "onFailure" else { return }
        if result.hasRun {
            guard !isHandled else { return }
            context.warn("command failed and no onFailure handles it", metadata: metadata.about(.effectFailed))
        } else if isHandled {
            // A rule may take a misspelt program for an outage.
            var metadata: Logger.Metadata = ["command": "\(program)"]
            if !context.isConfidential { metadata["reason"] = "\(result.error)" }
            context.warn("command could not be started", metadata: metadata.about(.commandNotStarted))
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
        _ ending: EndRequest
    ) async -> RunResult {
        let limit = arguments["maxOutput"]?.whole ?? 64 * 1024
        let (output, errors) = (OutputCollector(limit: limit), OutputCollector(limit: limit))
        let lines = lines(arguments, context, ending)
        let runner = CommandRunner(
            program: program, arguments: rest, environment: arguments["environment"]?.stringMap ?? [:],
            directory: arguments["directory"]?.text, input: arguments["input"]?.text, user: arguments["user"]?.text,
            group: arguments["group"]?.text, timeout: arguments["timeout"]?.swiftDuration, grace: grace,
            context: context)
        let end = await runner.run(ending) { pipe in
            while case .bytes(let bytes) = await pipe.next() {
                bytes.withUnsafeBytes { bytes in
                    output.add(bytes)
                    lines.add(bytes)
                }
            }
        } errors: { pipe in
            while case .bytes(let bytes) = await pipe.next() { bytes.withUnsafeBytes(errors.add) }
        }
        switch end {
        case .ended(let status):
            lines.finish()
            return RunResult(
                status, output, errors,
                expected: arguments["expect"]?.text.flatMap { ExitStatuses($0) } ?? Self.exitedWell,
                json: arguments["output"]?.text == "json", ending.reason)
        case .missing:
            let advice = program.contains("/") ? "" : ", or give its full path"
            return RunResult(error: "\(program): no such command; check the spelling\(advice)")
        case .failed(let error), .leftBehind(let error):
            var result = RunResult(error: error)
            (result.output, result.isCut) = (output.text, output.isCut)
            if case .leftBehind = end { result.isAbandoned = true }
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

    /// The expected exit statuses if the configuration gives none.
    private static let exitedWell: ExitStatuses = {
        guard let statuses = ExitStatuses("0") else { preconditionFailure("0 is an exit code") }
        return statuses
    }()
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
