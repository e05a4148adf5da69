import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The waits of a system on behalf of its rules of `always` with `for`.
final class RuleHolds: Sendable {
    /// The identity of a wait among the side effects of the loop.
    private struct ID: Hashable {
        let number: UInt64
    }

    /// The name of the feedback, which no configured feedback can have.
    static let name = "rules of always"

    private let time: HostTime
    /// The ends of the waits by the clock of the host, by the numbers of the waits.
    private let ends = Mutex<[UInt64: Duration]>([:])

    init(time: HostTime) { self.time = time }

    /// Returns the end of a wait by the clock of the host, or `nil` if it has not begun.
    func end(of wait: Levels.Wait) -> Duration? { ends.withLock { $0[wait.number] } }

    /// A feedback that waits, and sends an event when the time of a rule has come.
    var feedback: Feedback<SystemState, SystemEvent> {
        Feedback(name: Self.name, cancellation: .never) { [self] in
            let known = Mutex<Set<UInt64>>([])
            return { [self] state, _ in
                let waits = state.levels.waits.filter { $0.phase == .waits }
                let numbers = Set(waits.map(\.number))
                let before = known.withLock { known in
                    defer { known = numbers }
                    return known
                }
                if numbers == before { return .nothing }
                let ended = before.subtracting(numbers).sorted().map { Effect<SystemEvent>.cancel(id: ID(number: $0)) }
                let begun = waits.filter { !before.contains($0.number) }.map { wait -> Effect<SystemEvent> in
                    let (now, passed) = (time.elapsed(), time.now().span(since: wait.since))
                    let end = now + wait.delay - min(max(passed, .zero), wait.delay)
                    ends.withLock { $0[wait.number] = end }
                    return .waiting(time.pause(from: now, until: end, unless: Interruption())) {
                        Effect<SystemEvent>.Continuation(event: .due(wait.number))
                    }.id(ID(number: wait.number))
                }
                ends.withLock { ends in ends = ends.filter { numbers.contains($0.key) } }
                return .all(ended + begun)
            }
        }.seeingUpdates()
    }
}
