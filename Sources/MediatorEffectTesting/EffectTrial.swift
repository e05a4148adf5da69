public import CommonExpression
import Logging
import MediatorConfiguration
public import MediatorHost
import Synchronization

/// One run of a side effect in a test: on a clock that the test gives, with all that it reports.
///
/// ```swift
/// let clock = ManualClock()
/// let trial = EffectTrial(ChimeEffect(), arguments: ["text": .string("ding")], clock: clock)
/// await clock.nextDeadline(in: .milliseconds(30))
/// clock.advance(by: .milliseconds(30))
/// let reports = await trial.ended()
/// ```
public final class EffectTrial: Sendable {
    /// Something that a side effect has told.
    public enum Report: Sendable, Equatable {
        /// An outcome, with its result.
        case outcome(String, Value)
        /// It could not do its work.
        case fault(String)
    }

    private let reported = Mutex<[Report]>([])
    private let news: AsyncStream<Report>
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Begins a run.
    ///
    /// - Parameters:
    ///   - effect: the side effect.
    ///   - arguments: by parameter; defaults of the schema are added.
    ///   - clock: what the side effect waits by.
    ///   - memory: the memory that it keeps from one run to the next.
    public init(
        _ effect: any EffectImplementation, arguments: [String: Value] = [:],
        clock: any Clock<Duration> = ContinuousClock(), memory: EffectMemory = EffectMemory()
    ) {
        let defaults = effect.schema.parameters.compactMap { parameter in
            parameter.default.map { (parameter.name, $0) }
        }
        let arguments = arguments.merging(Dictionary(defaults) { first, _ in first }) { given, _ in given }
        let (news, continuation) = AsyncStream.makeStream(of: Report.self)
        self.news = news
        let context = EffectContext(
            system: "trial", feedback: "trial", clock: clock,
            logger: Logger(label: "trial") { _ in SwiftLogNoOpLogHandler() }, memory: memory,
            outcome: { [weak self] name, result in
                self?.note(.outcome(name, result), continuation)
                return true
            },
            fault: { [weak self] message in self?.note(.fault(message), continuation) })
        let task = Task.detached {
            await effect.run(arguments, in: context)
            continuation.finish()
        }
        self.task.withLock { $0 = task }
    }

    deinit {
        cancel()
    }

    private func note(_ report: Report, _ continuation: AsyncStream<Report>.Continuation) {
        reported.withLock { $0.append(report) }
        continuation.yield(report)
    }

    /// Its reports so far.
    public var reports: [Report] { reported.withLock { $0 } }

    /// Each report as it comes; ends when the run does. For one reader.
    public var stream: AsyncStream<Report> { news }

    /// Asks the side effect to end, as a new state or a stop does.
    public func cancel() {
        task.withLock { $0 }?.cancel()
    }

    /// Returns when the run has ended.
    ///
    /// - Returns: all that it has reported.
    @discardableResult
    public func ended() async -> [Report] {
        await task.withLock { $0 }?.value
        return reports
    }
}
