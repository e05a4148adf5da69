import FeedbackKit
import Testing

/// The state machine alone: every call in every phase, as plain values.
@Suite struct `The machine of the loop` {
    private typealias Machine = LoopMachine<Int, Int, String>

    /// Returns a machine in the given phase.
    private func machine(_ phase: LoopPhase) -> Machine {
        var machine = Machine(state: 0, limit: 2, overflow: .dropNewest)
        _ = machine.add(Feedback(name: "f") { _, _ in .nothing })
        if phase == .notStarted { return machine }
        _ = machine.start()
        var event: Int?
        var other: Machine.Other?
        var step = machine.next(&event, &other)
        while step == .other { step = machine.next(&event, &other) }
        if phase == .running { return machine }
        guard let run = machine.openRun(of: 0, endsAtStop: false)?.run else { return machine }
        _ = machine.attach("handle", to: run)
        switch phase {
        case .stopping: _ = machine.beginStop()
        case .cancelling: _ = machine.cancel()
        default:
            _ = machine.beginStop()
            _ = machine.closeRun(run)
        }
        return machine
    }

    @Test(arguments: [LoopPhase.notStarted, .running, .stopping, .cancelling, .stopped])
    func `the phases follow the diagram`(phase: LoopPhase) {
        #expect(machine(phase).phase == phase)
    }

    @Test(arguments: [
        (LoopPhase.notStarted, LoopPhase.running), (.running, .running), (.stopping, .stopping),
        (.cancelling, .cancelling), (.stopped, .stopped),
    ])
    func `start`(from phase: LoopPhase, to expected: LoopPhase) {
        var machine = machine(phase)
        #expect((machine.start() != nil) == (phase == .notStarted))
        #expect(machine.phase == expected)
    }

    @Test(arguments: [
        (LoopPhase.notStarted, LoopPhase.stopped, true), (.running, .stopped, true), (.stopping, .stopping, false),
        (.cancelling, .cancelling, false), (.stopped, .stopped, false),
    ])
    func `a graceful stop`(from phase: LoopPhase, to expected: LoopPhase, stops: Bool) {
        var machine = machine(phase)
        let closing = machine.beginStop()
        #expect(machine.phase == expected)
        #expect(closing.stopped == stops)
        #expect(closing.endings.isEmpty)
    }

    @Test(arguments: [
        (LoopPhase.notStarted, LoopPhase.stopped, 0), (.running, .stopped, 0), (.stopping, .cancelling, 1),
        (.cancelling, .cancelling, 0), (.stopped, .stopped, 0),
    ])
    func `a hard stop`(from phase: LoopPhase, to expected: LoopPhase, endings: Int) {
        var machine = machine(phase)
        let closing = machine.cancel()
        #expect(machine.phase == expected)
        #expect(closing.endings.count == endings)
        #expect(closing.endings.allSatisfy { $0.handle == "handle" })
    }

    @Test(arguments: [
        (LoopPhase.notStarted, SendResult.accepted, false), (.running, .accepted, true),
        (.stopping, .dropped(.stopped), false), (.cancelling, .dropped(.stopped), false),
        (.stopped, .dropped(.stopped), false),
    ])
    func `sending`(in phase: LoopPhase, gives result: SendResult, wakes: Bool) {
        var machine = machine(phase)
        let sent = machine.send(1, origin: nil, holdBeforeStart: true)
        #expect(sent.result == result)
        #expect(sent.needsTurn == wakes)
        // A second event never requests a second activation.
        #expect(machine.send(1, origin: nil, holdBeforeStart: true).needsTurn == false)
    }

    @Test(arguments: [LoopPhase.notStarted, .running, .stopping, .cancelling, .stopped])
    func `side effects start only while it runs`(phase: LoopPhase) {
        var machine = machine(phase)
        #expect((machine.openRun(of: 0, endsAtStop: false) != nil) == (phase == .running))
    }

    @Test(arguments: [LoopPhase.notStarted, .running, .stopping, .cancelling, .stopped])
    func `watchers are taken until there is nothing more to see`(phase: LoopPhase) {
        var machine = machine(phase)
        let added = machine.addWatcher(see: { _ in }, finish: {})
        #expect((added == nil) == (phase == .cancelling || phase == .stopped))
    }

    @Test(arguments: [
        (LoopPhase.notStarted, false), (.running, true), (.stopping, true), (.cancelling, false), (.stopped, false),
    ])
    func `a transition is held only while events are taken`(phase: LoopPhase, isHeld: Bool) {
        var machine = machine(phase)
        #expect(machine.holdTransition() == isHeld)
        #expect(machine.phase == phase)
    }

    @Test func `the loop stops only when the transition that it holds is completed`() {
        var machine = machine(.running)
        _ = machine.send(1, origin: nil, holdBeforeStart: true)
        var event: Int?
        var other: Machine.Other?
        #expect(machine.next(&event, &other) == .reduce)
        let isHeld = machine.holdTransition()
        #expect(isHeld)
        #expect(machine.next(&event, &other) == .idle)
        #expect(machine.beginStop().stopped == false)
        #expect(machine.addCompletion(.init(state: 1, event: 1, isUpdate: false)) == true)
        #expect(machine.next(&event, &other) == .other)
        #expect(machine.state == 1 && machine.phase == .stopping)
        #expect(machine.next(&event, &other) == .stopped)
        #expect(machine.addCompletion(.init(state: 2, event: 1, isUpdate: false)) == nil)
    }

    @Test func `an effect that ends before its handle is known leaves nothing behind`() {
        var machine = machine(.running)
        let run = machine.openRun(of: 0, endsAtStop: false)!.run
        #expect(machine.closeRun(run) != nil)
        #expect(machine.attach("late", to: run) == false)
        #expect(machine.handles.isEmpty)
        #expect(machine.closeRun(run) == nil)
    }

    @Test func `an effect that is cancelled before its handle is known is ended when it is`() {
        var machine = machine(.running)
        let run = machine.openRun(of: 0, endsAtStop: false)!.run
        let entered = machine.enter(1)
        #expect(entered.endings.map(\.run) == [run])
        #expect(entered.endings[0].handle == nil)
        #expect(machine.attach("late", to: run) == true)
        // One cancellation is enough.
        #expect(machine.enter(2).endings.isEmpty)
        #expect(machine.counters.effectsCancelled == 1)
    }

    @Test func `the loop stops only when the last effect has ended`() {
        var machine = machine(.running)
        let runs = (0..<3).map { _ in machine.openRun(of: 0, endsAtStop: false)!.run }
        #expect(machine.beginStop().stopped == false)
        #expect(machine.closeRun(runs[1])?.stopped == false)
        #expect(machine.closeRun(runs[0])?.stopped == false)
        #expect(machine.closeRun(runs[2])?.stopped == true)
        #expect(machine.phase == .stopped)
    }

    @Test(arguments: [LoopPhase.notStarted, .running, .stopping, .cancelling, .stopped])
    func `a failure after the stop is ignored`(phase: LoopPhase) {
        var machine = machine(phase)
        let fault = LoopFault(feedback: "f", error: CancellationError())
        let isNews = machine.note(fault)
        #expect((isNews == nil) == (phase == .stopped))
        #expect(machine.counters.faults == (phase == .stopped ? 0 : 1))
    }

    @Test func `an effect that may not start replaces no other`() {
        var machine = machine(.stopping)
        let refused = machine.openRun(of: 0, endsAtStop: false, endsPrevious: true)
        #expect(refused == nil)
        #expect(machine.counters.effectsCancelled == 0)
        machine = self.machine(.running)
        let runs = (0..<2).map { _ in machine.openRun(of: 0, endsAtStop: false)!.run }
        #expect(machine.openRun(of: 0, endsAtStop: false, endsPrevious: true)?.endings.map(\.run) == runs)
    }

    @Test func `watching a run does not prolong it`() {
        var machine = machine(.running)
        let whole = machine.openRun(of: 0, endsAtStop: false)!.run
        let watch = machine.openRun(of: 0, endsAtStop: true, within: whole, isGuard: true)!.run
        #expect(!machine.hasInner(whole))
        let inner = machine.openRun(of: 0, endsAtStop: false, within: whole)!.run
        #expect(machine.hasInner(whole))
        #expect(machine.closeRun(whole)?.endings.isEmpty == true)
        #expect(machine.closeRun(inner)?.endings.map(\.run) == [watch])
        #expect(machine.closeRun(watch)?.over?.run == whole)
    }
}
