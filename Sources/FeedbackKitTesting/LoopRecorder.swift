import FeedbackKit

/// An observer that records each event of a loop with its outcome, until the test asserts it.
final class LoopRecorder<State: Sendable, Event: Sendable>: LoopObserver {
    /// The outcome of an event.
    enum Outcome: Sendable {
        case new(State)
        case stay
        case unhandled
    }

    /// An event that the loop has taken.
    struct Entry: Sendable {
        let event: Event
        let old: State
        var outcome = Outcome.stay

        /// The state after the event.
        var state: State {
            if case .new(let state) = outcome { state } else { old }
        }
    }

    /// A running side effect.
    struct Running: Sendable {
        let run: RunID
        let feedback: String
        /// A Boolean value that indicates whether the effect brings events from outside for as long as the loop runs.
        let isSource: Bool
    }

    private struct Memory: Sendable {
        var initial: State?
        var entries: [Entry] = []
        /// The number of events that were not kept, and a flag for the event being reduced.
        var lost = 0
        var isLosing = false
        var faults: [LoopFault] = []
        var running: [Running] = []
        /// Set while the loop starts its sources, which happens before it publishes its first state.
        var isBeginning = false
        /// The index of the event that the test has sent.
        var sent: Int?
    }

    /// The maximum number of events that are kept; later events are only counted.
    static var maximumEntries: Int { 10_000 }

    private let memory = SharedValue(Memory())
    private let next: (any LoopObserver<State, Event>)?

    /// - Parameter next: An observer of the test, which receives every call.
    init(next: (any LoopObserver<State, Event>)?) {
        self.next = next
    }

    // MARK: Inspecting

    /// The first state of the loop, or `nil` before the start.
    var initial: State? { memory.value.initial }

    /// The running side effects, in the order of their start.
    var running: [Running] { memory.value.running }

    /// A Boolean value that indicates whether an event waits to be asserted.
    var hasEntry: Bool { memory.with { !$0.entries.isEmpty } }

    /// Records that the loop has published its first state.
    func noteFirstState() {
        memory.with { $0.isBeginning = false }
    }

    /// Marks the next event as the one that the test sends.
    func expectSent() {
        memory.with { $0.sent = $0.entries.count }
    }

    /// Removes and returns the event that the test has sent.
    func takeSent() -> Entry? {
        memory.with { memory in
            defer { memory.sent = nil }
            guard let index = memory.sent, index < memory.entries.count else { return nil }
            return memory.entries.remove(at: index)
        }
    }

    /// Removes and returns the oldest event.
    func takeFirst() -> Entry? {
        memory.with { $0.entries.isEmpty ? nil : $0.entries.removeFirst() }
    }

    /// Removes and returns all events, with the number of events that were not kept.
    func takeAll() -> (entries: [Entry], lost: Int) {
        memory.with { memory in
            defer { (memory.entries, memory.lost) = ([], 0) }
            return (memory.entries, memory.lost)
        }
    }

    /// The unasserted failures of side effects.
    var faults: [LoopFault] { memory.value.faults }

    /// Removes and returns the oldest failure of a side effect.
    func takeFault() -> LoopFault? {
        memory.with { $0.faults.isEmpty ? nil : $0.faults.removeFirst() }
    }

    // MARK: Observing

    func loopDidStart(with state: State) {
        memory.with { memory in
            memory.initial = state
            memory.isBeginning = true
        }
        next?.loopDidStart(with: state)
    }

    func loopWillReduce(_ event: Event, in state: State) {
        memory.with { memory in
            memory.isLosing = memory.entries.count >= Self.maximumEntries
            if memory.isLosing {
                memory.lost += 1
            } else {
                memory.entries.append(Entry(event: event, old: state))
            }
        }
        next?.loopWillReduce(event, in: state)
    }

    func loopDidTransition(from old: State, to new: State, on event: Event) {
        setOutcome(.new(new))
        next?.loopDidTransition(from: old, to: new, on: event)
    }

    func loopDidUpdate(from old: State, to new: State, on event: Event) {
        setOutcome(.new(new))
        next?.loopDidUpdate(from: old, to: new, on: event)
    }

    func loopDidNotHandle(_ event: Event, in state: State) {
        setOutcome(.unhandled)
        next?.loopDidNotHandle(event, in: state)
    }

    private func setOutcome(_ outcome: Outcome) {
        memory.with { memory in
            guard !memory.isLosing, let last = memory.entries.indices.last else { return }
            memory.entries[last].outcome = outcome
        }
    }

    func loopDidWithdraw(_ event: Event) {
        next?.loopDidWithdraw(event)
    }

    func loopDidDrop(_ event: Event, because reason: DropReason) {
        next?.loopDidDrop(event, because: reason)
    }

    func loopDidStartEffect(_ run: RunID, of feedback: String) {
        memory.with { memory in
            memory.running.append(Running(run: run, feedback: feedback, isSource: memory.isBeginning))
        }
        next?.loopDidStartEffect(run, of: feedback)
    }

    func loopDidCancelEffect(_ run: RunID, of feedback: String) {
        next?.loopDidCancelEffect(run, of: feedback)
    }

    func loopDidEndEffect(_ run: RunID, of feedback: String) {
        memory.with { memory in memory.running.removeAll { $0.run == run } }
        next?.loopDidEndEffect(run, of: feedback)
    }

    func loopDidFault(_ fault: LoopFault) {
        memory.with { memory in
            if memory.faults.count < Self.maximumEntries { memory.faults.append(fault) }
        }
        next?.loopDidFault(fault)
    }

    func loopDidStop(with state: State) {
        next?.loopDidStop(with: state)
    }
}
