import CommonExpression
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization

/// One run of a side effect, and its reports.
final class Run: Sendable {
    /// The limit on reports that are kept.
    private static let mostReports = 1_000

    private struct State {
        var reports: [(name: String, result: Value)] = []
        var faults: [String] = []
        var isOver = false
        var late: String?
        var waiters: [AsyncStream<Void>.Continuation] = []
    }

    private final class Record: Sendable {
        let state = Mutex(State())

        func change(_ body: (inout State) -> Void) {
            let waiters = state.withLock { state in
                body(&state)
                return state.waiters
            }
            for waiter in waiters { waiter.yield() }
        }
    }

    private let record = Record()
    /// What runs.
    let task: Task<Void, Never>

    /// Begins.
    init(_ effect: any EffectImplementation, _ arguments: [String: Value]) {
        let context = EffectContext(
            system: "check", feedback: "check", clock: ContinuousClock(),
            logger: Logger(label: "check") { _ in SwiftLogNoOpLogHandler() },
            outcome: { [record] name, result in
                record.change { state in
                    if state.isOver { state.late = state.late ?? name }
                    if state.reports.count < Self.mostReports { state.reports.append((name, result)) }
                }
                return true
            },
            fault: { [record] message in
                record.change { if $0.faults.count < Self.mostReports { $0.faults.append(message) } }
            })
        task = Task.detached { [record] in
            await effect.run(arguments, in: context)
            record.change { $0.isOver = true }
        }
    }

    var isOver: Bool { record.state.withLock { $0.isOver } }
    var reports: [(name: String, result: Value)] { record.state.withLock { $0.reports } }
    /// Its report after its end, if there was one.
    var late: String? { record.state.withLock { $0.late } }
    var faults: [String] { record.state.withLock { $0.faults } }

    /// Whether it has ended, or does within a time.
    func hasEnded(within limit: Duration, by clock: ContinuousClock) async -> Bool {
        await becomes(within: limit, by: clock) { $0.isOver }
    }

    /// Returns when it has reported something, could not do its work, or has ended, or a time has passed.
    func reports(within limit: Duration, by clock: ContinuousClock) async {
        _ = await becomes(within: limit, by: clock) { !$0.reports.isEmpty || !$0.faults.isEmpty || $0.isOver }
    }

    private func becomes(
        within limit: Duration, by clock: ContinuousClock, _ holds: @escaping @Sendable (borrowing State) -> Bool
    ) async -> Bool {
        let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        record.state.withLock { $0.waiters.append(change) }
        let timer = Task.detached {
            try? await clock.sleep(for: limit)
            change.finish()
        }
        defer {
            timer.cancel()
            change.finish()
        }
        if record.state.withLock({ holds($0) }) { return true }
        for await _ in changes where record.state.withLock({ holds($0) }) { return true }
        return record.state.withLock { holds($0) }
    }

    /// Returns its reports.
    func check(_ effect: any EffectImplementation, _ flaws: FlawCollector) {
        flaws.watch(self)
        let schema = effect.schema
        for (name, result) in reports {
            guard let outcome = schema.outcomes.first(where: { $0.name == name }) else {
                flaws.add(.outcomes, "it reported '\(name)', which its schema does not have")
                continue
            }
            guard case .structure(let structure) = result, structure.fields.count == outcome.result.fields.count else {
                flaws.add(.outcomes, "the result of \(name) does not have the fields of its schema")
                continue
            }
            for (field, value) in zip(outcome.result.fields, structure.fields) where !field.type.accepts(value) {
                flaws.add(
                    .outcomes,
                    "the field '\(field.name)' of \(name) is \(field.type), and was reported as \(value.type)")
            }
        }
    }
}
