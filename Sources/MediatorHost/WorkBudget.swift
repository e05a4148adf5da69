import Synchronization

/// A budget of work for each second. A caller waits for its turn only while the budget is used up.
///
/// The budget is a bucket of steps that fills steadily. A caller takes steps before its work, and gives back the rest or is
/// charged for more. Later callers wait until the bucket has recovered.
public final class WorkBudget: Sendable {
    private struct Machine {
        var bucket: WorkBucket
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// A Boolean value that indicates whether a task fills the bucket at intervals.
        var isFilling = false
    }

    /// The interval at which the bucket is filled while a caller waits.
    private static let period = Duration.milliseconds(20)

    private let time: HostTime
    private let machine: Mutex<Machine>

    /// Creates a full budget.
    ///
    /// - Parameter rate: The number of steps a second, which is also the maximum at once.
    public init(rate: Int, time: HostTime) {
        self.time = time
        machine = Mutex(Machine(bucket: WorkBucket(rate: rate, at: time.elapsed())))
    }

    /// A Boolean value that indicates whether a caller waits.
    package var isUsedUp: Bool { machine.withLock { !$0.waiting.isEmpty } }

    /// Takes steps, and waits until steps are left.
    ///
    /// - Returns: A Boolean value that indicates whether the steps were taken. It is `false` if the task was cancelled while
    ///   it waited.
    @discardableResult
    public func take(_ steps: Int) async -> Bool {
        let now = time.elapsed()
        guard let id = machine.withLock({ $0.bucket.take(steps, at: now) }) else { return true }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isAdmitted, begins) = machine.withLock { machine in
                    // The caller may have had its turn before it could wait.
                    guard machine.bucket.isWaiting(id) else { return (true, false) }
                    machine.waiting[id] = continuation
                    defer { machine.isFilling = true }
                    return (false, !machine.isFilling)
                }
                if isAdmitted { return continuation.resume(returning: true) }
                if begins {
                    Task(executorPreference: time.taskExecutor, priority: .management) { await self.fillWhileNeeded() }
                }
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// Takes steps for work that is already done, without a wait. Later callers wait for them.
    public func charge(_ steps: Int) { machine.withLock { $0.bucket.charge(steps) } }

    /// Gives back steps that the caller did not need.
    public func giveBack(_ steps: Int) {
        guard steps != 0 else { return }
        machine.withLock { $0.bucket.giveBack(steps) }
    }

    private func leave(_ id: UInt64) {
        let continuation = machine.withLock { machine in
            machine.bucket.leave(id)
            return machine.waiting.removeValue(forKey: id)
        }
        continuation?.resume(returning: false)
    }

    private func fillWhileNeeded() async {
        while true {
            try? await time.sleep(time.elapsed() + Self.period)
            let now = time.elapsed()
            let (admitted, isNeeded) = machine.withLock { machine in
                let admitted = machine.bucket.admit(at: now).compactMap { machine.waiting.removeValue(forKey: $0) }
                machine.isFilling = !machine.waiting.isEmpty
                return (admitted, machine.isFilling)
            }
            for continuation in admitted { continuation.resume(returning: true) }
            guard isNeeded else { return }
        }
    }
}

/// A bucket of steps that fills steadily, and the queue of requests for steps.
package struct WorkBucket {
    /// The number of steps a second, which is also the maximum at once.
    private let rate: Int
    /// The number of steps left. It is below zero if the last request took more steps than were left.
    private var left: Int
    /// The time at which the number of steps left was computed.
    private var filled: Duration
    private var nextID: UInt64 = 1
    /// The requests that wait, in their order.
    private var waiting: [(id: UInt64, steps: Int)] = []

    /// Creates a full bucket.
    package init(rate: Int, at now: Duration) {
        self.rate = rate
        left = rate
        filled = now
    }

    /// Takes steps. Returns `nil` if they are taken, or else the number of the request that waits for them.
    package mutating func take(_ steps: Int, at now: Duration) -> UInt64? {
        fill(at: now)
        guard left <= 0 || !waiting.isEmpty else {
            left -= steps
            return nil
        }
        defer { nextID += 1 }
        waiting.append((nextID, steps))
        return nextID
    }

    /// Takes steps for work that is already done.
    package mutating func charge(_ steps: Int) { left -= steps }

    /// Gives back steps that the caller did not need.
    package mutating func giveBack(_ steps: Int) { left = min(rate, left + steps) }

    /// Returns a Boolean value that indicates whether a request still waits.
    package func isWaiting(_ id: UInt64) -> Bool { waiting.contains { $0.id == id } }

    /// Removes a request that waits.
    package mutating func leave(_ id: UInt64) { waiting.removeAll { $0.id == id } }

    /// Takes steps for the first requests that wait, and returns their numbers.
    package mutating func admit(at now: Duration) -> [UInt64] {
        fill(at: now)
        var count = 0
        while left > 0, count < waiting.count {
            left -= waiting[count].steps
            count += 1
        }
        defer { waiting.removeFirst(count) }
        return waiting.prefix(count).map(\.id)
    }

    /// Adds the steps for the time that has passed.
    private mutating func fill(at now: Duration) {
        let passed = now - filled
        guard passed > .zero else { return }
        let (seconds, attoseconds) = passed.components
        let more = seconds > 0 ? (seconds < 3600 ? Int(seconds) * rate : .max / 2) : 0
        let part = Int(Double(rate) * Double(attoseconds) * 1e-18)
        // A time that is too short for a whole step counts at the next call.
        guard more + part > 0 else { return }
        filled = now
        left = min(rate, left + more + part)
    }
}

/// The pace of a watcher, which calls it for each watch event that it examines.
public protocol WatchPace: Sendable {
    /// Waits until the watcher may examine an event.
    ///
    /// - Parameter size: The number of bytes of its data; 0 if they are too few to count.
    func begin(ofSize size: Int) async
    /// Notes that the watcher has examined the event.
    ///
    /// - Parameter isTold: A Boolean value that indicates whether the watcher receives the event.
    func end(isTold: Bool)
}
