/// Sees what happens inside a loop. Every method has a default that does nothing.
///
/// The methods are called outside the loop's lock and in the order in which things happen; those that concern events
/// and states are called on the loop's turn, so they should be quick. A loop without an observer pays one test for it.
public protocol LoopObserver<State, Event>: Sendable {
    /// The loop's state.
    associatedtype State: Sendable
    /// The loop's event.
    associatedtype Event: Sendable

    /// The loop has started; `state` is about to be shown to its feedbacks.
    func loopDidStart(with state: State)
    /// An event has been taken from the mailbox.
    func loopWillReduce(_ event: Event, in state: State)
    /// An event has led to a new state.
    func loopDidTransition(from old: State, to new: State, on event: Event)
    /// No transition handles the event in this state; nothing changes.
    func loopDidNotHandle(_ event: Event, in state: State)
    /// An event was withdrawn: its side effect was cancelled before the loop took it.
    func loopDidWithdraw(_ event: Event)
    /// An event was dropped.
    func loopDidDrop(_ event: Event, because reason: DropReason)
    /// A side effect has started.
    func loopDidStartEffect(_ run: RunID, of feedback: String)
    /// A side effect has been told to end.
    func loopDidCancelEffect(_ run: RunID, of feedback: String)
    /// A side effect has ended.
    func loopDidEndEffect(_ run: RunID, of feedback: String)
    /// A side effect failed with an error nobody turned into an event, or the mailbox overflowed where that is a
    /// failure. The loop is about to be cancelled.
    func loopDidFault(_ fault: LoopFault)
    /// Nothing of the loop is left running.
    func loopDidStop(with state: State)
}

/// An observer that sees faults and nothing else.
///
///     system.observe(with: FaultObserver { fault in log("\(fault)") })
public struct FaultObserver<State: Sendable, Event: Sendable>: LoopObserver {
    private let report: @Sendable (LoopFault) -> Void

    /// Calls `report` with each fault, on any thread, before the loop is cancelled.
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
