import FeedbackKit
import Synchronization

/// The waits and the work of a feedback that end when its system stops.
///
/// A wait ends early when its task is cancelled. A stop of the system ends all waits at once, so that it waits for active work but
/// not for a timer.
final class Waits: Sendable {
    private struct Machine {
        var isClosed = false
        var nextID: UInt64 = 1
        /// The functions that end what is under way.
        var ends: [UInt64: @Sendable () -> Void] = [:]

        /// Notes something that is under way. Returns its number, or `nil` if the system has stopped.
        mutating func begin(_ end: @escaping @Sendable () -> Void) -> UInt64? {
            guard !isClosed else { return nil }
            defer { nextID += 1 }
            ends[nextID] = end
            return nextID
        }
    }

    private let machine = Mutex(Machine())
    private let time: HostTime

    init(time: HostTime) {
        self.time = time
    }

    /// A Boolean value that indicates whether the system has stopped.
    var isClosed: Bool { machine.withLock { $0.isClosed } }

    /// Waits until a time of the host's clock. Returns `false` if the wait ended early.
    func wait(until end: Duration) async -> Bool {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        guard let id = machine.withLock({ $0.begin { continuation.finish() } }) else { return false }
        let call = time.call(at: end) { continuation.finish() }
        for await _ in stream {}
        call.cancel()
        return isOver(id)
    }

    /// Does work, which is cancelled when the system stops. Returns `false` if it was cancelled.
    func perform(_ work: @escaping @Sendable () async -> Void) async -> Bool {
        let begun = machine.withLock { machine -> (task: Task<Void, Never>, id: UInt64?)? in
            guard !machine.isClosed else { return nil }
            let task = Task(executorPreference: time.taskExecutor) { await work() }
            return (task, machine.begin { task.cancel() })
        }
        guard let begun else { return false }
        await withTaskCancellationHandler {
            await begun.task.value
        } onCancel: {
            begun.task.cancel()
        }
        return isOver(begun.id)
    }

    /// Notes that something is over. Returns `false` if it was ended early.
    private func isOver(_ id: UInt64?) -> Bool {
        // The function leaves the lock before its release.
        let (end, isClosed) = machine.withLock { machine in
            (id.flatMap { machine.ends.removeValue(forKey: $0) }, machine.isClosed)
        }
        withExtendedLifetime(end) {}
        return !isClosed && !Task.isCancelled
    }

    /// Ends everything that is under way. Nothing further begins.
    func close() {
        let ends = machine.withLock { machine in
            machine.isClosed = true
            // In their order, so that one seed gives one simulation.
            return machine.ends.sorted { $0.key < $1.key }.map(\.value)
        }
        for end in ends { end() }
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
