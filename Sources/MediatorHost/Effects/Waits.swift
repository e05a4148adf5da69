import FeedbackKit
import Synchronization

/// The waits and the work of a system that end when it stops.
///
/// A wait ends early when its task is cancelled or the wait is interrupted. A stop of the system ends all waits at once, so
/// that it waits for active work but not for a timer.
final class Waits: Sendable {
    private struct Machine {
        var isClosed = false
        var nextID: UInt64 = 1
        var tasks: [UInt64: Task<Void, any Error>] = [:]
    }

    /// A wait that has begun.
    struct Ticket: Sendable {
        /// The unique number of the wait.
        let id: UInt64
        /// The end of the wait by the clock of the host; `nil` for work.
        let end: Duration?
        fileprivate let task: Task<Void, any Error>
    }

    private let machine = Mutex(Machine())
    private let time: HostTime

    init(time: HostTime) {
        self.time = time
    }

    /// A Boolean value that indicates whether the system has stopped.
    var isClosed: Bool { machine.withLock { $0.isClosed } }

    /// Begins a wait. The delay counts from this call. Returns `nil` if the system has stopped.
    func begin(_ delay: Duration) -> Ticket? {
        let end = time.elapsed() + delay
        return begin(until: end) { [time] in try await time.sleep(end) }
    }

    /// Begins work that is cancelled when the system stops. Returns `nil` if the system has stopped.
    func begin(_ work: @escaping @Sendable () async throws -> Void) -> Ticket? { begin(until: nil, work) }

    private func begin(until end: Duration?, _ work: @escaping @Sendable () async throws -> Void) -> Ticket? {
        machine.withLock { machine in
            guard !machine.isClosed else { return nil }
            let task = Task(executorPreference: time.taskExecutor) { try await work() }
            defer { machine.nextID += 1 }
            machine.tasks[machine.nextID] = task
            return Ticket(id: machine.nextID, end: end, task: task)
        }
    }

    /// Waits until the end of a wait. Returns `false` if it ended early.
    func finish(_ ticket: Ticket) async -> Bool {
        let result = await withTaskCancellationHandler {
            await ticket.task.result
        } onCancel: {
            ticket.task.cancel()
        }
        machine.withLock { _ = $0.tasks.removeValue(forKey: ticket.id) }
        guard case .success = result else { return false }
        return !Task.isCancelled
    }

    /// Ends one wait.
    func interrupt(_ ticket: Ticket) {
        ticket.task.cancel()
    }

    /// Ends all waits. No further wait begins.
    func close() {
        let tasks = machine.withLock { machine in
            machine.isClosed = true
            // In the order of the waits, so that one seed gives one simulation.
            return machine.tasks.sorted { $0.key < $1.key }.map(\.value)
        }
        for task in tasks { task.cancel() }
    }
}

/// The outcome of one step of a wait.
enum WaitStep: Sendable {
    /// The wait has ended.
    case ended
    /// The next step follows after this wait.
    case wait(EffectPause<SystemEvent>)
    /// The side effect is due. It counts as begun.
    case due
}

extension HostTime {
    /// Returns a wait until ``elapsed`` reaches a duration.
    ///
    /// - Parameter now: The present value of ``elapsed``.
    func pause(
        from now: Duration, until end: Duration, unless interruption: Interruption
    ) -> EffectPause<SystemEvent> {
        let instant = start.map { $0 + end }
        return .delay(end - now, until: .init(instant) { [sleep] in try await sleep(end) }, interruption)
    }
}
