import Synchronization

/// A budget of work for each second. A caller that needs more waits for its turn; nobody else waits.
///
/// The budget is a bucket of steps that fills steadily. A caller takes steps before its work and gives back the rest, so many
/// callers at once together take no more than there is.
public final class WorkBudget: Sendable {
    private struct Machine {
        var bucket: WorkBucket
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// Whether somebody fills the bucket in a while.
        var isFilling = false
    }

    /// How often the bucket is filled while somebody waits.
    private static let period = Duration.milliseconds(20)

    private let time: HostTime
    private let machine: Mutex<Machine>

    /// A full bucket.
    ///
    /// - Parameter rate: how many steps there are in a second, and at most at once.
    public init(rate: Int, time: HostTime) {
        self.time = time
        machine = Mutex(Machine(bucket: WorkBucket(rate: rate, at: time.elapsed())))
    }

    /// Whether somebody waits.
    package var isUsedUp: Bool { machine.withLock { !$0.waiting.isEmpty } }

    /// Takes steps, and waits as long as there are none. Returns at once when the task is cancelled.
    public func take(_ steps: Int) async {
        let now = time.elapsed()
        guard let id = machine.withLock({ $0.bucket.take(steps, at: now) }) else { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isAdmitted, begins) = machine.withLock { machine in
                    // It may have been its turn since.
                    guard machine.bucket.isWaiting(id) else { return (true, false) }
                    machine.waiting[id] = continuation
                    defer { machine.isFilling = true }
                    return (false, !machine.isFilling)
                }
                if isAdmitted { return continuation.resume() }
                if begins { Task(priority: .management) { await fillWhileNeeded() } }
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// Gives back what was not needed.
    public func giveBack(_ steps: Int) {
        guard steps != 0 else { return }
        machine.withLock { $0.bucket.giveBack(steps) }
    }

    private func leave(_ id: UInt64) {
        let continuation = machine.withLock { machine in
            machine.bucket.leave(id)
            return machine.waiting.removeValue(forKey: id)
        }
        continuation?.resume()
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
            for continuation in admitted { continuation.resume() }
            guard isNeeded else { return }
        }
    }
}

/// A bucket of steps that is filled steadily, and those who wait for steps.
package struct WorkBucket {
    /// How many steps there are in a second, and at most at once.
    private let rate: Int
    /// How many steps are left; below zero by what the last one took too many.
    private var left: Int
    /// When that was so.
    private var filled: Duration
    private var nextID: UInt64 = 1
    /// Those who wait, in their order.
    private var waiting: [(id: UInt64, steps: Int)] = []

    /// A full bucket.
    package init(rate: Int, at now: Duration) {
        self.rate = rate
        left = rate
        filled = now
    }

    /// Takes steps; nil: they are taken, else the number under which they are waited for.
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

    /// Gives back what was not needed.
    package mutating func giveBack(_ steps: Int) { left = min(rate, left + steps) }

    /// Whether steps are still waited for under a number.
    package func isWaiting(_ id: UInt64) -> Bool { waiting.contains { $0.id == id } }

    /// Nobody waits under a number any longer.
    package mutating func leave(_ id: UInt64) { waiting.removeAll { $0.id == id } }

    /// Those for whom there are steps now.
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

    /// Fills it for the time that has passed.
    private mutating func fill(at now: Duration) {
        let passed = now - filled
        guard passed > .zero else { return }
        let (seconds, attoseconds) = passed.components
        let more = seconds > 0 ? (seconds < 3600 ? Int(seconds) * rate : .max / 2) : 0
        let part = Int(Double(rate) * Double(attoseconds) * 1e-18)
        // What is less than a step is not lost.
        guard more + part > 0 else { return }
        filled = now
        left = min(rate, left + more + part)
    }
}

/// The pace of a watcher, asked before each happening that it looks at.
public protocol WatchPace: Sendable {
    /// Waits until a happening may be looked at.
    ///
    /// - Parameter size: how many bytes of data it holds; 0: too few to be counted.
    func begin(ofSize size: Int) async
    /// It has been looked at.
    ///
    /// - Parameter isTold: whether it is told to the watcher.
    func end(isTold: Bool)
}
