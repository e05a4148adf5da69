import DequeModule
import Synchronization

/// One run of a function by a worker, such as a turn of a loop. To queue one allocates nothing.
@usableFromInline
package struct Activation: Sendable {
    /// The argument of the function.
    @usableFromInline let owner: any AnyObject & Sendable
    @usableFromInline let body: @Sendable (any AnyObject & Sendable) -> Void

    @inlinable
    package init(_ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (any AnyObject & Sendable) -> Void) {
        self.owner = owner
        self.body = body
    }

    /// Runs a function.
    package init(_ run: @escaping @Sendable () -> Void) {
        // The owner is the function in its box, which this has just made.
        self.init(Box(run)) { unsafeDowncast($0, to: Box.self).run() }
    }

    private final class Box: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    @inlinable
    func run() { body(owner) }
}

/// A thread of a pool, and the activations that wait for it.
final class Worker: Sendable {
    /// The maximum number of activations that follow each other through the slot.
    static let longestRow = 16
    /// Each search of this number begins with the arrivals from outside, so that these do not wait for ever.
    private static let lookOutside = 16

    private struct Local {
        /// The latest request of an activation of this worker. It comes next, because its data is still in the caches.
        var slot: Activation?
        /// The number of activations through the slot in a row.
        var row = 0
        var queue = Deque<Activation>()
        /// The number of searches for work.
        var looks = 0
    }

    let index: Int
    let parker = Parker()
    private let local = Mutex(Local())
    /// The length of the queue.
    private let waiting = Atomic<Int>(0)
    /// The number of beginnings and ends of activations: odd within one.
    private let progress = Atomic<UInt64>(0)

    /// - Parameter index: Its position in the pool.
    init(_ index: Int) { self.index = index }

    /// The number of beginnings and ends of activations: odd within one.
    var steps: UInt64 { progress.load(ordering: .relaxed) }

    /// A Boolean value that indicates whether other workers can take something from the queue.
    var hasQueue: Bool { waiting.load(ordering: .acquiring) > 0 }

    /// Puts the request of an activation of this worker into the slot. Returns `true` if an earlier request had to make room
    /// for it: then another worker may be needed.
    func follow(_ activation: Activation) -> Bool {
        local.withLock { local in
            defer { local.slot = activation }
            guard let slot = local.slot else { return false }
            local.queue.append(slot)
            waiting.store(local.queue.count, ordering: .releasing)
            return true
        }
    }

    /// Queues an activation behind all others.
    func queue(_ activation: Activation) {
        local.withLock { local in
            local.queue.append(activation)
            waiting.store(local.queue.count, ordering: .releasing)
        }
    }

    /// Queues several activations behind all others.
    func queue(_ activations: some Collection<Activation>) {
        guard !activations.isEmpty else { return }
        local.withLock { local in
            local.queue.append(contentsOf: activations)
            waiting.store(local.queue.count, ordering: .releasing)
        }
    }

    /// Returns a Boolean value that indicates whether this search begins with the arrivals from outside.
    func looksOutside() -> Bool {
        local.withLock { local in
            local.looks &+= 1
            return local.looks % Self.lookOutside == 0
        }
    }

    /// Takes the next activation from the slot or the queue.
    func next() -> Activation? {
        local.withLock { local in
            if let slot = local.slot.take() {
                local.row += 1
                if local.row < Self.longestRow { return slot }
                // The row is long enough: the activation goes to the end of the queue.
                local.queue.append(slot)
            }
            local.row = 0
            let next = local.queue.popFirst()
            waiting.store(local.queue.count, ordering: .releasing)
            return next
        }
    }

    /// Removes half of the queue, for another worker.
    func giveHalf() -> [Activation] {
        guard hasQueue else { return [] }
        return local.withLock { local in
            let given = Array(local.queue.prefix((local.queue.count + 1) / 2))
            local.queue.removeFirst(given.count)
            waiting.store(local.queue.count, ordering: .releasing)
            return given
        }
    }

    /// Removes all waiting activations, because the running one does not end.
    func giveAll() -> [Activation] {
        local.withLock { local in
            var given: [Activation] = []
            if let slot = local.slot.take() { given.append(slot) }
            given.append(contentsOf: local.queue)
            local.queue.removeAll()
            waiting.store(0, ordering: .releasing)
            return given
        }
    }

    /// Runs an activation on the thread of this worker.
    func run(_ activation: Activation) {
        progress.wrappingAdd(1, ordering: .relaxed)
        activation.run()
        progress.wrappingAdd(1, ordering: .relaxed)
    }
}
