import DequeModule
import FeedbackKit
import OpenCombine
import Synchronization

/// A buffer between a source of this package and a subscriber, which delivers values in order as demanded.
///
/// `@unchecked`: the lock guards all mutable state. The subscriber is not marked as sendable. As its protocol requires,
/// only one delivery at a time calls it: the one that set `isDelivering` under the lock.
final class Relay<Value: Sendable>: OpenCombine.Subscription, @unchecked Sendable {
    /// A subscriber with its type erased.
    private struct Downstream {
        let value: (Value) -> Subscribers.Demand
        let end: () -> Void
    }

    private struct Guarded {
        var downstream: Downstream?
        /// The subscription and the owner that keep the source alive.
        var source: FeedbackKit.Subscription?
        var owner: (any Sendable)?
        var demand = Subscribers.Demand.none
        var waiting = Deque<Value>()
        var isDelivering = false
        var hasEnded = false
    }

    private enum Step {
        case value(Value, Downstream)
        case end(Downstream)
        case rest
    }

    private let lock = Mutex(())
    private var guarded: Guarded
    private let limit: Int
    private let onCancel: @Sendable () -> Void

    /// Creates a relay without a source.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of values that wait for demand, at least 1; a new value displaces the oldest.
    ///   - owner: An object that the relay keeps alive until its end.
    ///   - onCancel: Called when the subscriber has cancelled.
    init<S: Subscriber>(
        to subscriber: S, limit: Int, owner: (any Sendable)?, onCancel: @escaping @Sendable () -> Void = {}
    ) where S.Input == Value, S.Failure == Never {
        let downstream = Downstream(
            value: { subscriber.receive($0) }, end: { subscriber.receive(completion: .finished) })
        guarded = Guarded(downstream: downstream, owner: owner)
        self.limit = limit
        self.onCancel = onCancel
    }

    private func change<Result>(_ body: (inout Guarded) -> Result) -> Result {
        lock.withLock { _ in body(&guarded) }
    }

    /// Sets the source of the values.
    func connect(_ source: FeedbackKit.Subscription) {
        let isLate = change { guarded in
            guard guarded.downstream != nil, !guarded.hasEnded else { return true }
            guarded.source = source
            return false
        }
        if isLate { source.cancel() }
    }

    /// Adds a value.
    func offer(_ value: Value) {
        let (dropped, mustDeliver): (Value?, Bool) = change { guarded in
            guard guarded.downstream != nil, !guarded.hasEnded else { return (nil, false) }
            let dropped = guarded.waiting.count >= limit ? guarded.waiting.popFirst() : nil
            guarded.waiting.append(value)
            return (dropped, Self.wake(&guarded))
        }
        withExtendedLifetime(dropped) {}
        if mustDeliver { deliver() }
    }

    /// Ends the input; waiting values are still delivered.
    func end() {
        let mustDeliver = change { guarded in
            guarded.hasEnded = true
            return Self.wake(&guarded)
        }
        if mustDeliver { deliver() }
    }

    func request(_ demand: Subscribers.Demand) {
        let mustDeliver = change { guarded in
            guarded.demand += demand
            return Self.wake(&guarded)
        }
        if mustDeliver { deliver() }
    }

    func cancel() {
        let (before, wasLive) = change { guarded in
            let before = guarded
            guarded.downstream = nil
            guarded.source = nil
            guarded.owner = nil
            guarded.waiting = []
            return (before, before.downstream != nil)
        }
        before.source?.cancel()
        if wasLive { onCancel() }
    }

    private static func wake(_ guarded: inout Guarded) -> Bool {
        if guarded.isDelivering { return false }
        guarded.isDelivering = true
        return true
    }

    private func deliver() {
        while true {
            switch next() {
            case .value(let value, let downstream):
                let more = downstream.value(value)
                if more != .none { change { $0.demand += more } }
            case .end(let downstream):
                downstream.end()
            case .rest: return
            }
        }
    }

    private func next() -> Step {
        var released: Guarded?
        defer { withExtendedLifetime(released) {} }
        return change { guarded in
            guard let downstream = guarded.downstream else {
                guarded.isDelivering = false
                return .rest
            }
            if guarded.demand > 0, let value = guarded.waiting.popFirst() {
                guarded.demand -= 1
                return .value(value, downstream)
            }
            if guarded.hasEnded, guarded.waiting.isEmpty {
                released = guarded
                guarded.downstream = nil
                guarded.source = nil
                guarded.owner = nil
                return .end(downstream)
            }
            guarded.isDelivering = false
            return .rest
        }
    }
}
