import Dispatch
import FeedbackKit
import Glibc
import Synchronization
import TestSupport

/// Collects values in order.
final class Record<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])
    var values: [Value] { storage.withLock { $0 } }
    func add(_ value: Value) { storage.withLock { $0.append(value) } }
}

/// A counter.
final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    @discardableResult
    func add(_ number: Int) -> Int { count.add(number, ordering: .sequentiallyConsistent).newValue }
}

/// An executor that keeps its jobs until a test runs them.
final class Later: LoopExecutor {
    let kept = Record<@Sendable () -> Void>()
    var eventsPerTurn: Int { 1 }
    func enqueue(_ turn: @escaping @Sendable () -> Void) { kept.add(turn) }
}

/// A serial queue as a task executor.
final class QueueExecutor: TaskExecutor {
    let queue: DispatchQueue
    private let key = DispatchSpecificKey<Bool>()
    init(_ label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: key, value: true)
    }

    /// A Boolean value that indicates whether the caller runs on the queue.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Returns when the loop has taken all events sent before.
func settled<S, E>(_ loop: Loop<S, E>) async {
    await withCheckedContinuation { continuation in
        loop.afterPending { continuation.resume() }
    }
}

/// Returns the first state for which the condition holds.
func first(of system: System, where condition: (any FeedbackKit.State) -> Bool) async -> (any FeedbackKit.State)? {
    for await state in system.stream where condition(state) { return state }
    return nil
}

/// A serial queue as a serial executor.
final class SerialQueueExecutor: SerialExecutor {
    let queue: DispatchQueue
    private let key = DispatchSpecificKey<Bool>()
    init(_ label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: key, value: true)
    }

    /// A Boolean value that indicates whether the caller runs on the queue.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// A property that travels with every event of the tests if the environment has `TRAVELLING`.
enum Traveller {
    @TaskLocal static var value = 0

    /// Lets the property travel, if that is wanted. It does so for all tests of the process.
    static func departIfWanted() {
        if getenv("TRAVELLING") != nil { $value.travelWithEvents() }
    }
}
