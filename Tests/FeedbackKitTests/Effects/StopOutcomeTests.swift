import FeedbackKit
import TestSupport
import Testing

/// A graceful stop takes the last events of running side effects.
@Suite struct `A gentle stop that takes outcomes` {
    private typealias Machine = LoopMachine<Int, Int, String>

    /// Returns a machine whose feedback runs one side effect.
    private func busy(limit: Int = 2, overflow: Overflow = .dropNewest) -> (Machine, Machine.Opened) {
        var machine = Machine(state: 0, limit: limit, overflow: overflow)
        _ = machine.add(Feedback(name: "f") { _, _ in .nothing })
        _ = machine.start()
        turn(&machine)
        guard let opened = machine.openRun(of: 0, endsAtStop: false) else {
            preconditionFailure("a machine that runs opens a run")
        }
        return (machine, opened)
    }

    /// Takes all waiting events and returns them.
    @discardableResult
    private func turn(_ machine: inout Machine) -> [Int] {
        var events: [Int] = []
        while true {
            var event: Int?
            var other: Machine.Other?
            switch machine.next(&event, &other) {
            case .reduce: event.map { events.append($0) }
            case .other: break
            case .idle, .stopped, .notTaken, .putOff: return events
            }
        }
    }

    @Test func `accepts those of side effects, and nothing else`() {
        var (machine, opened) = busy()
        #expect(machine.beginStop(takingOutcomes: true).stopped == false)
        #expect(machine.send(1, origin: nil, holdBeforeStart: true).result == .dropped(.stopped))
        #expect(machine.emit(2, from: 0, within: nil).result == .dropped(.stopped))
        let sent = machine.send(3, origin: opened.origin, holdBeforeStart: true)
        #expect(sent.result == .accepted && sent.needsTurn)
        // The machine does not stop before the event has been taken.
        #expect(machine.closeRun(opened.run)?.stopped == false)
        #expect(turn(&machine) == [3])
        #expect(machine.phase == .stopped)
        #expect(machine.counters.refused == 2)
    }

    @Test func `accepts none of a side effect that a new state has ended`() {
        var machine = Machine(state: 0, limit: 2, overflow: .dropNewest)
        _ = machine.add(Feedback(name: "f", cancellation: .onNewState) { _, _ in .nothing })
        _ = machine.start()
        turn(&machine)
        let opened = machine.openRun(of: 0, endsAtStop: false)
        _ = machine.beginStop(takingOutcomes: true)
        _ = machine.enter(1)
        #expect(machine.send(3, origin: opened?.origin, holdBeforeStart: true).result == .dropped(.cancelled))
        #expect(machine.openRun(of: 0, endsAtStop: false) == nil)
    }

    @Test func `takes those that wait in a machine that is paused, and drops the others`() {
        var (machine, opened) = busy(limit: 10)
        let isPaused = machine.pause()
        #expect(isPaused)
        _ = machine.send(1, origin: nil, holdBeforeStart: true)
        _ = machine.send(2, origin: opened.origin, holdBeforeStart: true)
        _ = machine.send(3, origin: nil, holdBeforeStart: true)
        #expect(turn(&machine).isEmpty)
        let closing = machine.beginStop(takingOutcomes: true)
        #expect(closing.discarded == [1, 3] && closing.needsTurn && !closing.stopped)
        #expect(machine.look.snapshot.waiting == 1)
        #expect(turn(&machine) == [2])
        #expect(machine.closeRun(opened.run)?.stopped == true)
    }

    @Test func `has senders wait for room as ever`() {
        var (machine, opened) = busy(limit: 1, overflow: .block)
        _ = machine.beginStop(takingOutcomes: true)
        let first = machine.sendWaiting(1, origin: opened.origin, always: false) { _ in }
        let second = machine.sendWaiting(2, origin: opened.origin, always: false) { _ in }
        let outside = machine.sendWaiting(3, origin: nil, always: true) { _ in }
        #expect(!first.waits && second.waits && !outside.waits)
        #expect(outside.sent.result == .dropped(.stopped))
    }

    @Test func `counts no event that was only offered`() {
        var (machine, _) = busy()
        _ = machine.beginStop()
        #expect(machine.send(1, origin: nil, holdBeforeStart: true, isOffer: true).result == .dropped(.stopped))
        #expect(machine.counters.refused == 0)
    }

    @Test func `is awaited only by those who want to`() async {
        final class Token: Sendable {}
        let release = Gate()
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback { _, _ in .run { _ in await release.opened() } }],
            executor: .sendersThread
        ) { _, _ in .unhandled }
        loop.start()
        let told = Record<Int>()
        weak var token: Token?
        do {
            let kept = Token()
            token = kept
            let subscription = loop.whenStopped { withExtendedLifetime(kept) { told.add(1) } }
            subscription.cancel()
        }
        #expect(token == nil)
        let subscription = loop.whenStopped { told.add(2) }
        #expect(loop.beginStopTakingOutcomes() == 0)
        #expect(!loop.isOver && told.values.isEmpty)
        release.open()
        await loop.stopped()
        #expect(loop.isOver && told.values == [2])
        let late = loop.whenStopped { told.add(3) }
        #expect(told.values == [2, 3])
        withExtendedLifetime((subscription, late)) {}
    }
}

/// A function that runs between two values.
@Suite struct `A visit of a mediator` {
    @Test func `comes behind the values before it, and before those after it`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<String>()
        let subscription = mediator.subscribe { [mediator] value in
            seen.add("\(value)")
            guard value == 1 else { return }
            mediator.send(2)
            mediator.visit { seen.add("visit \($0.map(String.init) ?? "none")") }
            mediator.send(3)
        }
        mediator.send(1)
        #expect(seen.values == ["1", "2", "visit none", "3"])
        subscription.cancel()
    }

    @Test func `gets the value of its place`() {
        let mediator = CurrentValueMediator<Int>(0)
        let seen = Record<Int?>()
        let subscription = mediator.subscribe { [mediator] value in
            guard value == 1 else { return }
            mediator.visit { seen.add($0) }
            mediator.send(2)
            mediator.visit { seen.add($0) }
        }
        mediator.visit { seen.add($0) }
        mediator.send(1)
        #expect(seen.values == [0, 1, 2])
        subscription.cancel()
    }

    @Test func `sees another limit from its place on`() {
        let mediator = PassthroughMediator<Int>(limit: 1, overflow: .dropNewest)
        let seen = Record<Int>()
        let subscription = mediator.subscribe { [mediator] value in
            seen.add(value)
            guard value == 1 else { return }
            mediator.send(2)
            mediator.send(3)
            mediator.bound(limit: 2, overflow: .dropOldest)
            mediator.send(4)
            mediator.send(5)
        }
        mediator.send(1)
        #expect(seen.values == [1, 4, 5])
        #expect(mediator.snapshot.sent == 5 && mediator.snapshot.dropped == 2)
        subscription.cancel()
    }
}
