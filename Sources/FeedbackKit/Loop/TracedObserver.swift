import Synchronization

/// An executor with a log of what the loops on it do, such as a simulation.
package protocol TracingExecutor: LoopExecutor {
    /// Returns the number of a further loop on this executor, from 1. Returns `nil` if the executor traces no loops.
    func number(ofLoop name: String) -> Int?
    /// Adds a line to the log.
    func trace(_ line: String)
}

/// A state or an event with a name of its own in traces.
package protocol NamedInTraces {
    var nameInTraces: String { get }
}

/// An observer that writes what a loop does to the log of its executor, and passes everything on to the loop's own observer.
///
/// A line has names only: a description may contain values that differ between two runs, such as addresses or the order of
/// a set.
struct TracedObserver<State: Sendable, Event: Sendable>: LoopObserver {
    private let base: (any LoopObserver<State, Event>)?
    private let executor: any TracingExecutor
    private let loop: String

    init?(_ base: (any LoopObserver<State, Event>)?, on executor: any TracingExecutor) {
        guard let number = executor.number(ofLoop: "\(State.self)") else { return nil }
        self.base = base
        self.executor = executor
        loop = "loop \(number)"
    }

    /// The name of a state or an event: its case or its type.
    private func name(_ value: Any) -> String {
        if let named = value as? any NamedInTraces { return named.nameInTraces }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .enum else { return "\(mirror.subjectType)" }
        if let label = mirror.children.first?.label { return label }
        // A case without values is printed by its name, unless the type has a description of its own.
        let isDescribed = value is any CustomStringConvertible || value is any CustomDebugStringConvertible
        return isDescribed ? "\(mirror.subjectType)" : "\(value)"
    }

    private func trace(_ line: @autoclosure () -> String) { executor.trace("\(loop) \(line())") }

    func loopDidStart(with state: State) {
        trace("starts in \(name(state))")
        base?.loopDidStart(with: state)
    }

    func loopWillReduce(_ event: Event, in state: State) {
        trace("takes \(name(event)) in \(name(state))")
        base?.loopWillReduce(event, in: state)
    }

    func loopDidTransition(from old: State, to new: State, on event: Event) {
        trace("enters \(name(new))")
        base?.loopDidTransition(from: old, to: new, on: event)
    }

    func loopDidUpdate(from old: State, to new: State, on event: Event) {
        trace("updates \(name(new))")
        base?.loopDidUpdate(from: old, to: new, on: event)
    }

    func loopDidNotHandle(_ event: Event, in state: State) {
        trace("does not handle \(name(event))")
        base?.loopDidNotHandle(event, in: state)
    }

    func loopDidWithdraw(_ event: Event) {
        trace("withdraws \(name(event))")
        base?.loopDidWithdraw(event)
    }

    func loopDidDrop(_ event: Event, because reason: DropReason) {
        trace("drops \(name(event)): \(reason.rawValue)")
        base?.loopDidDrop(event, because: reason)
    }

    func loopDidStartEffect(_ run: RunID, of feedback: String) {
        trace("starts effect \(run.rawValue) of \(feedback)")
        base?.loopDidStartEffect(run, of: feedback)
    }

    func loopDidCancelEffect(_ run: RunID, of feedback: String) {
        trace("cancels effect \(run.rawValue) of \(feedback)")
        base?.loopDidCancelEffect(run, of: feedback)
    }

    func loopDidEndEffect(_ run: RunID, of feedback: String) {
        trace("ends effect \(run.rawValue) of \(feedback)")
        base?.loopDidEndEffect(run, of: feedback)
    }

    func loopDidFault(_ fault: LoopFault) {
        trace("fails")
        base?.loopDidFault(fault)
    }

    func loopDidStop(with state: State) {
        trace("stops in \(name(state))")
        base?.loopDidStop(with: state)
    }
}

extension LoopCore {
    /// Lets the executor of the loop trace it, if the executor does so and the loop has not been started.
    @usableFromInline
    func beTraced() {
        let (phase, surroundings) = guarded.withLock { ($0.machine.phase, $0.surroundings) }
        guard phase == .notStarted, let executor = surroundings.executor, executor.pool == nil,
            let tracing = executor.base as? any TracingExecutor,
            let traced = TracedObserver(surroundings.observer?.base, on: tracing)
        else { return }
        let observer = Observer(traced)
        guarded.withLock { guarded in
            // Another thread may have started or changed the loop. The old observer is not released here, because
            // `surroundings` holds it.
            guard guarded.machine.phase == .notStarted, guarded.surroundings.observer === surroundings.observer else {
                return
            }
            guarded.surroundings.observer = observer
            guarded.machine.isObserved = true
        }
        withExtendedLifetime((surroundings, observer)) {}
    }
}
