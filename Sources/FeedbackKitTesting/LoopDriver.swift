import FeedbackKit

/// The common part of ``TestStore`` and ``TestSystem``. It drives a loop step by step on a simulation and compares the
/// loop's behaviour with the test's expectations.
///
/// The loop takes events as they arrive, and the recorder keeps them. The asserted state lags behind: it is the state
/// after the last event that the test asserted.
final class LoopDriver<State: Sendable, Event: Sendable>: Sendable {
    /// The expected outcome of an event.
    enum Expectation {
        /// The event leads to this new state.
        case state(State)
        /// A rule handles the event and keeps the state.
        case unchanged
        /// No rule handles the event.
        case unhandled
    }

    enum Stage: Sendable {
        case made, running, over
        /// The loop had started before the driver could observe it; this has been reported.
        case unusable
    }

    private struct Progress: Sendable {
        var stage: Stage
        var state: State

        /// Sets the state and returns the old one, so that it is not released under a lock.
        mutating func move(to new: State) -> State {
            let old = state
            state = new
            return old
        }
    }

    let loop: Loop<State, Event>
    let simulation: Simulation
    private let recorder: LoopRecorder<State, Event>
    private let progress: SharedValue<Progress>
    private let subscription: Subscription
    /// The name of the public type: `TestStore` or `TestSystem`.
    private let kind: String
    private let birth: SourcePlace

    /// Drives a loop that has not started.
    convenience init(
        _ loop: Loop<State, Event>, in simulation: Simulation, observer: (any LoopObserver<State, Event>)?,
        kind: String, at place: SourcePlace
    ) {
        let recorder = LoopRecorder<State, Event>(next: observer)
        let isFresh = loop.phase == .notStarted
        if isFresh {
            loop.setExecutor(simulation)
            loop.setObserver(recorder)
        } else {
            let message = "a \(kind) must see its loop from the beginning, but this one has been started already"
            FailureReport.report(message, at: place)
        }
        self.init(loop, in: simulation, recorder: recorder, stage: isFresh ? .made : .unusable, kind: kind, at: place)
    }

    /// Drives a loop that the caller has built on the simulation with this recorder as observer.
    convenience init(
        _ loop: Loop<State, Event>, in simulation: Simulation, recordedBy recorder: LoopRecorder<State, Event>,
        kind: String, at place: SourcePlace
    ) {
        self.init(loop, in: simulation, recorder: recorder, stage: .made, kind: kind, at: place)
    }

    private init(
        _ loop: Loop<State, Event>, in simulation: Simulation, recorder: LoopRecorder<State, Event>, stage: Stage,
        kind: String, at place: SourcePlace
    ) {
        self.loop = loop
        self.simulation = simulation
        self.recorder = recorder
        self.kind = kind
        birth = place
        progress = SharedValue(Progress(stage: stage, state: loop.state))
        subscription = stage == .made ? loop.watch { _ in recorder.noteFirstState() } : Subscription {}
    }

    deinit {
        switch progress.value.stage {
        case .over, .unusable: return
        case .made: FailureReport.report("a \(kind) was made and never started: call start()", at: birth)
        case .running:
            let message =
                "a \(kind) was released without finish() or stop(), so its remaining events were not checked"
                + leftOver().map { "; \($0)" }.joined()
            FailureReport.report(message, at: birth)
        }
        loop.cancel()
        simulation.settle()
    }

    /// The state after the last asserted event.
    var state: State { progress.value.state }

    // MARK: Operations

    /// Starts the loop and compares its first state with the expected one, if given.
    func start(expecting expected: State?, at place: SourcePlace) {
        switch progress.value.stage {
        case .unusable: return
        case .running, .over: return FailureReport.report("start() has been called before", at: place)
        case .made: break
        }
        progress.with { $0.stage = .running }
        loop.start()
        simulation.run(.now, at: place)
        guard let expected, let initial = recorder.initial, !areEqual(expected, initial) else { return }
        let difference = visibleDifference(from: expected, to: initial)
        FailureReport.report("the initial state is another (- expected, + actual):\n\(difference)", at: place)
    }

    /// Prepares to send: every received event must have been asserted.
    func prepare(_ event: Event, _ verb: String, at place: SourcePlace) -> Bool {
        let operation = "\(verb)(\(describe(event)))"
        guard isRunning(operation, at: place) else { return false }
        simulation.run(.now, at: place)
        reportUnasserted(before: operation, at: place)
        return true
    }

    /// Sends an event. Call ``prepare(_:_:at:)`` first.
    func send(_ event: Event, _ expectation: Expectation, at place: SourcePlace) {
        loop.afterPending { [recorder] in recorder.expectSent() }
        let result = loop.send(event)
        simulation.run(.now, at: place)
        if let entry = recorder.takeSent() { return check(entry, expectation, "send", at: place) }
        let reason =
            if case .dropped(let reason) = result { "it was dropped: \(reason.rawValue)" } else {
                "the loop is \(loop.phase.rawValue)"
            }
        FailureReport.report("\(describe(event)) was sent but not taken; \(reason)", at: place)
    }

    /// Takes the oldest unasserted event.
    func receive(_ pattern: EventPattern<Event>, at place: SourcePlace, _ expectation: (State) -> Expectation) {
        guard isRunning("receive(\(pattern.name))", at: place) else { return }
        simulation.run(.now, at: place)
        guard let entry = recorder.takeFirst() else {
            let message = "expected to receive \(pattern.name), but no event arrived; \(status)"
            return FailureReport.report(message, at: place)
        }
        guard pattern.matches(entry.event) else {
            _ = progress.with { $0.move(to: entry.state) }
            let message =
                "expected to receive \(pattern.name), got \(describe(entry.event))\(pattern.difference(entry.event))"
            return FailureReport.report(message, at: place)
        }
        check(entry, expectation(state), "receive", at: place)
    }

    /// Takes the oldest unasserted failure of a side effect.
    func receiveFault(from feedback: String?, at place: SourcePlace) -> LoopFault? {
        guard isRunning("receiveFault()", at: place) else { return nil }
        simulation.run(.now, at: place)
        guard let fault = recorder.takeFault() else {
            FailureReport.report("expected that a side effect fails, but none has; \(status)", at: place)
            return nil
        }
        if let feedback, fault.feedback != feedback {
            FailureReport.report("expected that a side effect of '\(feedback)' fails, but \(fault)", at: place)
        }
        return fault
    }

    /// Waits in real time until an event can be asserted, or the limit has passed.
    func waitForEvent(within limit: Duration, at place: SourcePlace) async {
        let deadline = Simulation.deadline(in: limit)
        repeat {
            guard simulation.run(.now, at: place), !recorder.hasEntry, loop.phase != .stopped else { return }
        } while await simulation.arrival(before: deadline, countingSleepers: false)
        simulation.run(.now, at: place)
    }

    /// Advances the simulated time.
    func advance(by duration: Duration, at place: SourcePlace) {
        guard isRunning("advance(by: \(duration))", at: place) else { return }
        if duration < .zero {
            return FailureReport.report("time cannot be advanced by \(duration): it does not go back", at: place)
        }
        simulation.run(.now, at: place)
        simulation.run(.until(simulation.now.advanced(by: duration)), at: place)
    }

    /// Ends the test. No unasserted event and no running side effect may remain.
    func finish(at place: SourcePlace) {
        guard isRunning("finish()", at: place) else { return }
        simulation.run(.now, at: place)
        reportUnasserted(before: "finish()", at: place)
        let (before, time) = (recorder.running, timeStatus)
        // Sources end synchronously when the stop begins, so whatever still runs is a working side effect.
        loop.beginStop()
        let left = Set(recorder.running.map(\.run))
        let running = before.filter { left.contains($0.run) }
        if !running.isEmpty {
            let message =
                "side effects still run at finish(): \(name(running)); \(time); let them end, or end them with stop()"
            FailureReport.report(message, at: place)
        }
        end(within: .zero, "finish()", at: place)
    }

    /// Ends the test and all running side effects.
    func stop(within limit: Duration, at place: SourcePlace) {
        guard isRunning("stop()", at: place) else { return }
        simulation.run(.now, at: place)
        reportUnasserted(before: "stop()", at: place)
        end(within: max(.zero, limit), "stop()", at: place)
    }

    private func end(within limit: Duration, _ operation: String, at place: SourcePlace) {
        progress.with { $0.stage = .over }
        loop.beginStop()
        let horizon = SimulationStateMachine.Horizon.until(simulation.now.advanced(by: limit))
        let isOver = { [loop] in loop.phase == .stopped }
        if simulation.drive(horizon, limit: simulation.maximumSteps, place, until: isOver) == .done { return }
        loop.cancel()
        simulation.run(.now, at: place)
        guard loop.phase != .stopped else { return }
        let message = "the loop does not end at \(operation): it has been cancelled, but \(status)"
        FailureReport.report(message, at: place)
    }

    // MARK: Checks

    private func isRunning(_ operation: String, at place: SourcePlace) -> Bool {
        switch progress.value.stage {
        case .running: return true
        case .unusable: return false
        case .made: FailureReport.report("\(operation) before start(): call start() first", at: place)
        case .over: FailureReport.report("\(operation) after the end: the loop has been stopped", at: place)
        }
        return false
    }

    /// Reports unasserted events and discards them.
    private func reportUnasserted(before operation: String, at place: SourcePlace) {
        while let fault = recorder.takeFault() {
            FailureReport.report(
                "before \(operation): \(fault); if this is intended, assert it with receiveFault", at: place)
        }
        let (entries, lost) = recorder.takeAll()
        guard let last = entries.last else { return }
        let state = lost > 0 ? loop.state : last.state
        _ = progress.with { $0.move(to: state) }
        let names = unasserted(entries, lost)
        FailureReport.report("before \(operation): \(names); assert each with receive", at: place)
    }

    private func unasserted(_ entries: [LoopRecorder<State, Event>.Entry], _ lost: Int) -> String {
        let count = entries.count + lost
        let names = entries.prefix(Self.maximumNames).map { describe($0.event) }
        let more = count > names.count ? ", …" : ""
        return
            "received and not asserted: \(count) event\(count == 1 ? "" : "s"): \(names.joined(separator: ", "))\(more)"
    }

    /// The maximum number of events or side effects that a message names.
    private static var maximumNames: Int { 10 }

    /// Returns the unasserted events and failures.
    private func leftOver() -> [String] {
        let (entries, lost) = recorder.takeAll()
        return recorder.faults.map(\.description) + (entries.isEmpty ? [] : [unasserted(entries, lost)])
            + (recorder.running.contains { !$0.isSource } ? [runningEffects] : [])
    }

    /// Names running side effects in a message.
    private func name(_ running: [LoopRecorder<State, Event>.Running]) -> String {
        if running.isEmpty { return "no side effect runs" }
        let names = running.prefix(Self.maximumNames).map { $0.feedback.isEmpty ? "(no name)" : $0.feedback }
        let more = running.count > names.count ? ", …" : ""
        let count = "\(running.count) side effect\(running.count == 1 ? "" : "s")"
        return "running: \(count) of \(names.joined(separator: ", "))\(more)"
    }

    /// The running side effects, as text.
    private var runningEffects: String { name(recorder.running.filter { !$0.isSource }) }

    /// The time and the next deadline, as text.
    private var timeStatus: String {
        let deadline =
            simulation.nextDeadline.map { "the next deadline is \($0.offset)" } ?? "no task sleeps on the clock"
        let isOwnClock = (loop.clock as? SimulationClock)?.simulation === simulation
        let clock = isOwnClock ? "" : "; the loop has another clock than the simulation, which does not drive it"
        return "the time is \(simulation.now.offset); \(deadline)\(clock)"
    }

    /// The failures, the running side effects and the time, as text.
    private var status: String {
        let faults = recorder.faults.map { "\($0); " }.joined()
        return "\(faults)\(runningEffects); \(timeStatus)"
    }

    /// Compares the outcome of an event with the expectation.
    private func check(
        _ entry: LoopRecorder<State, Event>.Entry, _ expectation: Expectation, _ verb: String, at place: SourcePlace
    ) {
        _ = progress.with { $0.move(to: entry.state) }
        let old = entry.old
        let message: String
        switch (entry.outcome, expectation) {
        case (.unhandled, .unhandled), (.stay, .unchanged): return
        case (.new(let new), .state(let expected)):
            if areEqual(expected, new) { return }
            message =
                areEqual(expected, old)
                ? "leads to a change that was not asserted (- before, + after):\n"
                    + visibleDifference(from: old, to: new)
                : "leads to another state (- expected, + actual):\n\(visibleDifference(from: expected, to: new))"
        case (.new(let new), _) where areEqual(old, new):
            message = "leads to an equal state, \(equalIsNew); assert it with \(verb)"
        case (.new(let new), .unchanged):
            message =
                "leads to a new state, expected none (- before, + after):\n\(visibleDifference(from: old, to: new))"
        case (.new(let new), .unhandled):
            message =
                "is handled, expected it not to be (- before, + after):\n\(visibleDifference(from: old, to: new))"
        case (.stay, .unhandled):
            message = "is handled by a rule that keeps the state; assert it with \(verb)Unchanged"
        case (.stay, .state(let expected)):
            message =
                "is handled by a rule that keeps the state, so there is no new one"
                + (areEqual(expected, old)
                    ? "; assert it with \(verb)Unchanged"
                    : " (- expected, + actual):\n\(visibleDifference(from: expected, to: old))")
        case (.unhandled, .unchanged):
            message = "is not handled in \(describe(old)); if this is intended, assert it with \(verb)Unhandled"
        case (.unhandled, .state(let expected)):
            message =
                "is not handled in \(describe(old)); "
                + (areEqual(expected, old)
                    ? "if this is intended, assert it with \(verb)Unhandled"
                    : "expected the new state \(describe(expected))")
        }
        FailureReport.report("\(describe(entry.event)) \(message)", at: place)
    }
}
