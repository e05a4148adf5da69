/// An observer of the events, the states and the side effects of a loop. Every method has a default that does nothing.
///
/// The loop calls the methods outside its lock, in the order of the changes. It calls most of them on its turn, so they
/// should be quick. The methods for a dropped event, a fault, the cancellation and the end of a side effect, and the
/// end of the loop may run on any thread. A loop without an observer pays one test for it.
public protocol LoopObserver<State, Event>: Sendable {
    /// The loop's state.
    associatedtype State: Sendable
    /// The loop's event.
    associatedtype Event: Sendable

    /// Called when the loop has started, before its feedbacks see `state`.
    func loopDidStart(with state: State)
    /// Called when an event has been taken from the mailbox, before the loop reduces it.
    func loopWillReduce(_ event: Event, in state: State)
    /// Called when an event has led to a new state.
    func loopDidTransition(from old: State, to new: State, on event: Event)
    /// Called when an event has changed the state in place; see ``Reduction/updated``.
    func loopDidUpdate(from old: State, to new: State, on event: Event)
    /// Called when no transition handles the event in this state. Nothing changes.
    func loopDidNotHandle(_ event: Event, in state: State)
    /// Called when an event was withdrawn, because its side effect was cancelled before the loop took the event.
    func loopDidWithdraw(_ event: Event)
    /// Called when an event was dropped.
    func loopDidDrop(_ event: Event, because reason: DropReason)
    /// Called when a side effect has started.
    func loopDidStartEffect(_ run: RunID, of feedback: String)
    /// Called when a side effect is cancelled.
    func loopDidCancelEffect(_ run: RunID, of feedback: String)
    /// Called when a side effect has ended.
    func loopDidEndEffect(_ run: RunID, of feedback: String)
    /// Called with the first fault of the loop, before the loop is cancelled. Either a side effect failed with an error
    /// that no rule turned into an event, or the mailbox overflowed under ``Overflow/fail``.
    func loopDidFault(_ fault: LoopFault)
    /// Called when no part of the loop runs any more. It is not called for a loop that ended before its initial state
    /// was shown.
    func loopDidStop(with state: State)
}

/// An observer that only sees faults.
///
///     system.observe(with: FaultObserver { fault in log("\(fault)") })
public struct FaultObserver<State: Sendable, Event: Sendable>: LoopObserver {
    private let report: @Sendable (LoopFault) -> Void

    /// Creates an observer that calls `report` with the first fault of a loop, on any thread, before the loop is
    /// cancelled.
    public init(_ report: @escaping @Sendable (LoopFault) -> Void) {
        self.report = report
    }

    /// Reports the fault.
    public func loopDidFault(_ fault: LoopFault) { report(fault) }
}

extension LoopObserver {
    /// Does nothing.
    public func loopDidStart(with state: State) {}
    /// Does nothing.
    public func loopWillReduce(_ event: Event, in state: State) {}
    /// Does nothing.
    public func loopDidTransition(from old: State, to new: State, on event: Event) {}
    /// Does nothing.
    public func loopDidUpdate(from old: State, to new: State, on event: Event) {}
    /// Does nothing.
    public func loopDidNotHandle(_ event: Event, in state: State) {}
    /// Does nothing.
    public func loopDidWithdraw(_ event: Event) {}
    /// Does nothing.
    public func loopDidDrop(_ event: Event, because reason: DropReason) {}
    /// Does nothing.
    public func loopDidStartEffect(_ run: RunID, of feedback: String) {}
    /// Does nothing.
    public func loopDidCancelEffect(_ run: RunID, of feedback: String) {}
    /// Does nothing.
    public func loopDidEndEffect(_ run: RunID, of feedback: String) {}
    /// Does nothing.
    public func loopDidFault(_ fault: LoopFault) {}
    /// Does nothing.
    public func loopDidStop(with state: State) {}
}
