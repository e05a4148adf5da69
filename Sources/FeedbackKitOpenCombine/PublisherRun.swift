import FeedbackKit
import OpenCombine
import Synchronization

/// A running publisher as a side effect: passes its values on, and ends when it completes or is cancelled.
///
/// It requests unlimited values at once, and drops values that arrive after the cancellation.
///
/// `@unchecked`: the lock guards all mutable state. `OpenCombine.Subscription` is not marked as sendable. It is used
/// for two calls only: `cancel`, which its protocol requires to be safe from any thread, and one `request` on the
/// thread that delivered the subscription.
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

    /// Creates a run that has not begun.
    ///
    /// - Parameters:
    ///   - value: Called with each value, on the thread that delivers it.
    ///   - end: Called once when the publisher completes, but not after a cancellation.
    init(
        value: @escaping @Sendable (Input) -> Void,
        end: @escaping @Sendable (Subscribers.Completion<Failure>) -> Void
    ) {
        receiveValue = value
        receiveEnd = end
    }

    /// Changes the phase and returns the one before.
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
