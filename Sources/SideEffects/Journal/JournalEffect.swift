public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost
import Subprocess
import Synchronization

/// The side effect `journal`: reports each entry of the journal that matches.
///
/// A child process, `journalctl --follow`, reads the files of the journal. journald shortens files that other processes
/// have mapped, and only systemd's own programs survive the `SIGBUS` that follows.
///
/// ``JournalRequest`` makes the arguments of the child, ``CommandRunner`` runs it, and ``JournalFollower`` reads its
/// output. A run has these states:
///
/// | state | activity | next state |
/// |---|---|---|
/// | locating | a first child prints the last entry | following, or waiting if the child fails |
/// | following | a child prints entries, and each moves the position | waiting when the child ends |
/// | waiting | a pause | following, or locating without a position |
///
/// Cancelling ends the run in every state, together with the process group of the child. If the daemon is killed, its
/// ends of the pipes close, and journalctl ends by itself.
public struct JournalEffect: EffectImplementation {
    /// The time limit of the child that prints the last entry.
    private static let locatingLimit = Duration.seconds(60)
    /// The pause after the end of a child that had worked.
    private static let restartPause = Duration.seconds(1)
    /// The advice for a child that ended before it had worked.
    private static let advice =
        "only root and members of the group systemd-journal may read the journal; for the unit of the daemon, use a "
        + "drop-in with SupplementaryGroups=systemd-journal"

    /// The pause after a child that failed.
    public let retryInterval: Duration
    /// The time for the child to end before it is killed.
    public let grace: Duration
    private let program: String

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .journal }

    /// Creates the side effect with a program that understands the options of journalctl.
    public init(program: String = "journalctl", retryInterval: Duration = .seconds(10), grace: Duration = .seconds(5)) {
        self.program = program
        self.retryInterval = retryInterval
        self.grace = grace
    }

    /// Follows the journal until it is cancelled. The next run of the feedback continues at the position.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        var complaints = Complaints()
        do {
            let request = try JournalRequest(arguments)
            let follower = JournalFollower(request, context)
            while !Task.isCancelled {
                let pause = await follow(request, follower, &complaints, context)
                try await context.clock.sleep(for: pause)
            }
        } catch let problem as SensingProblem {
            // Another attempt with the same arguments would fail too.
            context.fail(problem.message)
        } catch {
            return
        }
    }

    /// Runs one child to its end. Returns the pause before the next one.
    private func follow(
        _ request: JournalRequest, _ follower: JournalFollower, _ complaints: inout Complaints,
        _ context: EffectContext
    ) async -> Duration {
        let position: JournalRequest.Position
        do {
            position = if let known = follower.position { known } else { try await locate(request, context) }
        } catch let problem as SensingProblem {
            complaints.add(problem.message, context)
            return retryInterval
        } catch {
            return .zero
        }
        follower.begin(at: position)
        let begin = follower.elapsed()
        let ending = EndRequest()
        // A quiet journal has no entry that would show that the child follows it.
        let notice = Task { [retryInterval] in
            if (try? await context.clock.sleep(for: retryInterval)) != nil { context.works() }
        }
        let outcome = await journalctl(request.following(position), ending, nil, context) { pipe in
            await follower.read(&pipe, from: position, until: ending)
        }
        notice.cancel()
        guard !Task.isCancelled else {
            if case .leftBehind(let message) = outcome.end {
                context.logger.error("\(message)", metadata: .about(.leftBehind, ["command": "\(program)"]))
            }
            return .zero
        }
        guard follower.takeProgress() || follower.elapsed() - begin >= retryInterval else {
            complaints.add(outcome.problem(advice: Self.advice), context)
            return retryInterval
        }
        complaints.clear(context)
        context.warn(
            "\(outcome.problem(advice: nil)); restarting it behind the last entry that was reported", metadata: [:])
        return Self.restartPause
    }

    /// Returns the position at which the configuration starts.
    private func locate(_ request: JournalRequest, _ context: EffectContext) async throws -> JournalRequest.Position {
        let output = OutputCollector(limit: JournalFollower.lineLimit)
        let ending = EndRequest()
        let outcome = await journalctl(JournalRequest.lastEntry, ending, Self.locatingLimit, context) { pipe in
            while case .bytes(let bytes) = await pipe.next() { bytes.withUnsafeBytes(output.add) }
        }
        try Task.checkCancellation()
        if ending.reason == .timedOut {
            throw SensingProblem(
                "\(program) did not print the last entry within \(Self.locatingLimit.components.seconds) s, so it was "
                    + "ended; check the disk of the journal")
        }
        guard case .ended(.exited(0)) = outcome.end else {
            throw SensingProblem(outcome.problem(advice: Self.advice))
        }
        guard let last = JournalEntry(line: output.bytes) else {
            throw SensingProblem("\(program) found no entry in the journal; \(Self.advice)")
        }
        return request.start(lastEntry: last)
    }

    /// Runs journalctl to its end.
    private func journalctl(
        _ arguments: [String], _ ending: EndRequest, _ timeout: Duration?, _ context: EffectContext,
        output: @escaping CommandRunner.Reader
    ) async -> Outcome {
        let runner = CommandRunner(
            program: program, arguments: arguments, environment: JournalRequest.environment, timeout: timeout,
            grace: grace, context: context)
        let errors = LastLine()
        let end = await runner.run(ending, output: output, errors: errors.read)
        return Outcome(program: program, end: end, lastError: errors.text)
    }
}

/// The end of a child.
private struct Outcome {
    let program: String
    let end: CommandEnd
    /// The last line on standard error.
    let lastError: String

    /// Returns a message about the end, with advice if the child ended by itself.
    func problem(advice: String?) -> String {
        let detail = lastError.isEmpty ? "" : " (\(lastError))"
        switch end {
        case .ended(.exited(let code)):
            return "\(program) ended with exit code \(code)\(detail)" + (advice.map { "; \($0)" } ?? "")
        case .ended(.signaled(let number)):
            return "\(program) was ended by \(SignalName.name(of: number))\(detail)"
        case .missing:
            return "cannot read the journal, because there is no program \(program); install the package systemd, or "
                + "correct the daemon's PATH"
        case .failed(let message), .leftBehind(let message):
            return "cannot read the journal: \(message)"
        }
    }
}

/// Keeps the last line that a command wrote.
private final class LastLine: Sendable {
    /// The bytes that are kept of a line.
    private static let limit = 1024

    private let line = Mutex<[UInt8]>([])

    var text: String { String(decoding: line.withLock { $0 }, as: UTF8.self) }

    @Sendable func read(_ pipe: inout CommandPipe) async {
        var lines = LineSplitter(limit: Self.limit)
        while case .bytes(let bytes) = await pipe.next() {
            bytes.withUnsafeBytes { keep(lines.add($0)) }
        }
        if let last = lines.finish() { keep([last]) }
    }

    private func keep(_ lines: [LineSplitter.Line]) {
        guard let last = lines.last(where: { !$0.bytes.isEmpty }) else { return }
        line.withLock { $0 = last.bytes }
    }
}
