import FeedbackKit
import OpenCombine
import Synchronization

/// One run of a publisher as a side effect: passes its values on, and ends when it completes or is cancelled.
///
/// It asks for all values at once. Values that come after the cancellation are dropped.
///
/// `@unchecked`: everything that changes lies under the lock. `OpenCombine.Subscription`, which is not marked as
/// sendable, is only told to cancel, which its protocol demands to be safe from any thread, and told its demand once,
/// on the thread that brought it.
final class PublisherRun<Input, Failure: Error>: Subscriber, @unchecked Sendable {
    private enum Phase {
        case waiting
        case running(any OpenCombine.Subscription)
        case over
    }

    private let lock = Mutex(())
    private var guarded = Phase.waiting
    private let receiveValue: @Sendable (Input) -> Void
    private let receiveEnd: @Sendable (Subscribers.Completion<Failure>) -> Void

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - value: called with each value, on the thread that brings it.
    ///   - end: called once when the publisher completes; not when the run is cancelled.
    init(
        value: @escaping @Sendable (Input) -> Void,
        end: @escaping @Sendable (Subscribers.Completion<Failure>) -> Void
    ) {
        receiveValue = value
        receiveEnd = end
    }

    /// Changes the phase, and answers the one before.
    private func change(_ next: (Phase) -> Phase) -> Phase {
        lock.withLock { _ in
            let before = guarded
            guarded = next(before)
            return before
        }
    }

    var isOver: Bool {
        lock.withLock { _ in if case .over = guarded { true } else { false } }
    }

    func receive(subscription: any OpenCombine.Subscription) {
        let before = change { before in
            if case .waiting = before { .running(subscription) } else { before }
        }
        guard case .waiting = before else { return subscription.cancel() }
        subscription.request(.unlimited)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        if !isOver { receiveValue(input) }
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        if case .over = change({ _ in .over }) { return }
        receiveEnd(completion)
    }

    /// Ends the run.
    func cancel() {
        if case .running(let subscription) = change({ _ in .over }) { subscription.cancel() }
    }
}
