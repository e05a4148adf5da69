public import CommonExpression
import FoundationEssentials
import Logging
import MediatorConfiguration
public import MediatorHost
import Synchronization

/// A compatibility test for side effects: whether an implementation does what the host relies on.
///
/// The check runs the side effect many times, for real and by the real clock, so it takes some seconds. It counts the
/// resources of the whole process, so nothing else may run in the process: where tests run in parallel, run this one
/// alone.
///
/// ```swift
/// let flaws = await EffectCheck(ChimeEffect(), arguments: ["text": .string("ding")], outcomes: ["onRung"]).flaws()
/// #expect(flaws.isEmpty)
/// ```
public struct EffectCheck: Sendable {
    /// The side effect.
    public let effect: any EffectImplementation
    /// The arguments of each run. With them the side effect can do its work, with a real peer if it needs one.
    public let arguments: [String: Value]
    /// Outcomes of which a run is to report one at least; empty: it reports none.
    public let outcomes: Set<String>
    /// The number of runs, one after the other; the check does this twice.
    public var repetitions = 20
    /// The time that a run has to end by itself, or, if it lasts, to report its first outcome.
    public var runLimit = Duration.seconds(30)
    /// The time that a cancelled run has to end.
    public var cancellationLimit = Duration.seconds(5)
    /// After which time one is cancelled; a side effect that lasts must not have ended by then.
    public var cancellationDelay = Duration.milliseconds(50)
    /// The time after which its resources must be released.
    public var settleLimit = Duration.seconds(5)
    /// The limit on memory that the second series of runs adds, in bytes.
    public var memoryLimit = 16 << 20

    private let clock = ContinuousClock()

    /// A check of a side effect.
    ///
    /// - Parameters:
    ///   - arguments: by parameter, such that it can do its work; defaults of the schema are added.
    ///   - outcomes: those of which each run reports one at least.
    public init(_ effect: any EffectImplementation, arguments: [String: Value], outcomes: Set<String>) {
        self.effect = effect
        let defaults = effect.schema.parameters.compactMap { parameter in
            parameter.default.map { (parameter.name, $0) }
        }
        self.arguments = arguments.merging(Dictionary(defaults) { first, _ in first }) { given, _ in given }
        self.outcomes = outcomes
    }

    /// Everything that is found; empty: the side effect is as it has to be. After a run that does not end no other begins.
    public func flaws() async -> [EffectFlaw] {
        let flaws = FlawCollector()
        checkSchema(flaws)
        guard flaws.isEmpty else { return flaws.all }
        let phases: [(FlawCollector) async -> Bool] = [
            warmUp, { await repeatRuns($0) }, { await cancelRuns($0) }, { await runTwo($0) }, { await shutDown($0) },
        ]
        for phase in phases {
            guard await phase(flaws) else { break }
        }
        await effect.shutDown()
        flaws.checkLate()
        return flaws.all
    }

    // MARK: What it says of itself

    private func checkSchema(_ flaws: FlawCollector) {
        let schema = effect.schema
        for flaw in schema.flaws { flaws.add(.schema, flaw) }
        if schema != effect.schema { flaws.add(.schema, "it differs from one look to the next") }
        for name in outcomes where !schema.outcomes.contains(where: { $0.name == name }) {
            flaws.add(.arguments, "the schema has no outcome '\(name)'")
        }
        for (name, value) in arguments.sorted(by: { $0.key < $1.key }) {
            guard let parameter = schema.parameters.first(where: { $0.name == name }) else {
                flaws.add(.arguments, "the schema has no parameter '\(name)'")
                continue
            }
            if !parameter.type.accepts(value) {
                flaws.add(.arguments, "the parameter '\(name)' is \(parameter.type), and given \(value.type)")
            }
        }
        for parameter in schema.parameters where parameter.required && arguments[parameter.name] == nil {
            flaws.add(.arguments, "the parameter '\(parameter.name)' is missing")
        }
        for problem in schema.problems(with: arguments) { flaws.add(.arguments, problem.message) }
    }

    // MARK: Phases; `false`: something does not end, and nothing further can be found out

    /// The first run: what only the first one makes, such as threads that all share, is there afterwards.
    private func warmUp(_ flaws: FlawCollector) async -> Bool {
        // The descriptors that the runtime opens for its timers.
        try? await clock.sleep(for: .milliseconds(1))
        try? await SuspendingClock().sleep(for: .milliseconds(1))
        await Task.detached { [clock] in try? await clock.sleep(for: .milliseconds(1)) }.value
        guard await run(flaws, .ending) else { return false }
        await effect.shutDown()
        return true
    }

    private func repeatRuns(_ flaws: FlawCollector) async -> Bool {
        let before = Remains.now
        for _ in 0..<repetitions {
            guard await run(flaws, .ending) else { return false }
        }
        let memory = Remains.memory
        for _ in 0..<repetitions {
            guard await run(flaws, .ending) else { return false }
        }
        let grown = Remains.memory - memory
        if grown > memoryLimit { flaws.add(.growth, "\(repetitions) runs took \(grown) bytes of memory for good") }
        await checkRemains(over: before, flaws, "\(2 * repetitions) runs")
        return true
    }

    private func cancelRuns(_ flaws: FlawCollector) async -> Bool {
        let before = Remains.now
        for delay in [.zero, cancellationDelay / 10, cancellationDelay] + Array(repeating: .zero, count: 8) {
            let run = Run(effect, arguments)
            if delay > .zero { try? await clock.sleep(for: delay) }
            run.task.cancel()
            guard await run.hasEnded(within: cancellationLimit, by: clock) else {
                flaws.add(.cancellation, "it goes on \(cancellationLimit) after it was cancelled")
                return false
            }
            run.check(effect, flaws)
        }
        await checkRemains(over: before, flaws, "runs that were cancelled")
        return true
    }

    private func runTwo(_ flaws: FlawCollector) async -> Bool {
        let before = Remains.now
        let (first, second) = (Run(effect, arguments), Run(effect, arguments))
        for (run, other) in [(first, second), (second, first)] {
            guard await finish(run, flaws, .concurrency) else { return false }
            if effect.schema.isLasting, run === first, other.isOver {
                flaws.add(.concurrency, "one ended when the other was cancelled")
            }
        }
        // One that is cancelled leaves the other alone.
        let (cancelled, left) = (Run(effect, arguments), Run(effect, arguments))
        cancelled.task.cancel()
        guard await cancelled.hasEnded(within: cancellationLimit, by: clock) else {
            flaws.add(.cancellation, "it goes on \(cancellationLimit) after it was cancelled, beside another")
            return false
        }
        guard await finish(left, flaws, .concurrency) else { return false }
        await checkRemains(over: before, flaws, "two at a time")
        return true
    }

    private func shutDown(_ flaws: FlawCollector) async -> Bool {
        let before = Remains.now
        for _ in 0..<2 {
            await effect.shutDown()
            await effect.shutDown()
            guard await run(flaws, .shutDown) else { return false }
        }
        await checkRemains(over: before, flaws, "it was shut down and run again")
        return true
    }

    // MARK: One run

    /// Runs once, and ends it if it lasts; `false`: it does not end.
    private func run(_ flaws: FlawCollector, _ rule: EffectFlaw.Rule) async -> Bool {
        await finish(Run(effect, arguments), flaws, rule)
    }

    private func finish(_ run: Run, _ flaws: FlawCollector, _ rule: EffectFlaw.Rule) async -> Bool {
        guard effect.schema.isLasting else {
            guard await run.hasEnded(within: runLimit, by: clock) else {
                flaws.add(rule, "a run has not ended after \(runLimit), and its schema does not say that it lasts")
                run.task.cancel()
                return false
            }
            run.check(effect, flaws)
            checkOutcomes(run, flaws, rule)
            return true
        }
        if !outcomes.isEmpty { await run.reports(within: runLimit, by: clock) }
        if await run.hasEnded(within: cancellationDelay, by: clock) {
            flaws.add(rule, "a run ended by itself, and its schema says that it lasts")
        }
        run.task.cancel()
        guard await run.hasEnded(within: cancellationLimit, by: clock) else {
            flaws.add(.cancellation, "it goes on \(cancellationLimit) after it was cancelled")
            return false
        }
        run.check(effect, flaws)
        checkOutcomes(run, flaws, rule)
        return true
    }

    private func checkOutcomes(_ run: Run, _ flaws: FlawCollector, _ rule: EffectFlaw.Rule) {
        let seen = run.reports.map(\.name)
        let rule = rule == .ending ? .outcomes : rule
        for fault in run.faults { flaws.add(rule, "it could not do its work: \(fault)") }
        if outcomes.isEmpty {
            if let first = seen.first { flaws.add(rule, "it reported \(first), where no outcome was expected") }
        } else if outcomes.isDisjoint(with: seen) {
            let wanted = outcomes.sorted().joined(separator: " or ")
            flaws.add(
                rule,
                "it was to report \(wanted), and reported "
                    + (seen.isEmpty ? "nothing" : Set(seen).sorted().joined(separator: ", ")))
        }
    }

    /// Waits until no resource is held beyond those before, and reports the rest.
    private func checkRemains(over before: Remains, _ flaws: FlawCollector, _ what: String) async {
        await effect.shutDown()
        // The runtime's pool, and those that serve queues, begin and end as they are needed.
        let allowance = ProcessInfo.processInfo.activeProcessorCount + 4
        let end = clock.now.advanced(by: settleLimit)
        var excess = Remains.now.excess(over: before, threads: allowance)
        while !excess.isEmpty, clock.now < end {
            try? await clock.sleep(for: .milliseconds(20))
            excess = Remains.now.excess(over: before, threads: allowance)
        }
        for each in excess { flaws.add(.remains, "after \(what) there are \(each)") }
    }
}

/// The flaws, each once.
final class FlawCollector: Sendable {
    /// The runs that have ended: what they report from then on is wrong.
    private let runs = Mutex<[Run]>([])

    /// A run has ended.
    func watch(_ run: Run) { runs.withLock { $0.append(run) } }

    /// Looks whether runs have reported something after they had ended.
    func checkLate() {
        for name in runs.withLock({ $0 }).compactMap(\.late) {
            add(.outcomes, "it reported \(name) after it had ended")
        }
    }

    private let flaws = Mutex<[EffectFlaw]>([])

    var all: [EffectFlaw] { flaws.withLock { $0 } }
    var isEmpty: Bool { all.isEmpty }

    func add(_ rule: EffectFlaw.Rule, _ message: String) {
        let flaw = EffectFlaw(rule: rule, message: message)
        flaws.withLock { if !$0.contains(flaw) { $0.append(flaw) } }
    }
}
