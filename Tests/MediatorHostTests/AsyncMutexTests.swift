import MediatorHost
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `An async mutex` {
    @Test func `lets who is cancelled go at once, though it is not their turn`() async {
        let mutex = AsyncMutex()
        #expect(await mutex.enter() == .entered)
        let leaving = Task { await mutex.enter() }
        await suspend(while: mutex.waiting < 1)
        leaving.cancel()
        #expect(await leaving.value == .cancelled)
        #expect(mutex.waiting == 0)
        let next = Task { await mutex.enter() }
        await suspend(while: mutex.waiting < 1)
        mutex.leave()
        #expect(await next.value == .entered)
    }

    @Test func `turns away who comes when as many wait as may`() async {
        let mutex = AsyncMutex(limit: 2)
        #expect(await mutex.enter() == .entered)
        var waiting: [Task<AsyncMutex.Entry, Never>] = []
        for number in 0..<2 {
            waiting.append(Task { await mutex.enter() })
            await suspend(while: mutex.waiting <= number)
        }
        #expect(await mutex.enter() == .full)
        let exempt = Task { await mutex.enter(isLimited: false) }
        await suspend(while: mutex.waiting < 3)
        // In the order in which they came.
        for task in waiting + [exempt] {
            mutex.leave()
            #expect(await task.value == .entered)
        }
        mutex.leave()
        #expect(await mutex.enter() == .entered)
    }
}

@Suite struct `The order of waiting tasks` {
    private typealias Machine = AsyncMutexStateMachine<String>

    /// A machine that one occupies, and at which three have arrived, in the order of their places.
    private func busy() -> Machine {
        var machine = Machine()
        #expect(machine.arrive(limit: 3) == .enters)
        for place in 1...3 { #expect(machine.arrive(limit: 3) == .waits(UInt64(place))) }
        #expect(machine.arrive(limit: 3) == .isTurnedAway)
        return machine
    }

    @Test(arguments: [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]])
    func `is that of arrival, in whatever order they begin to wait`(order: [UInt64]) {
        var machine = busy()
        for place in order { #expect(machine.wait(place, with: "\(place)") == .waits) }
        for next in ["1", "2", "3", nil] { #expect(machine.leave() == next) }
        #expect(machine.arrive(limit: 3) == .enters)
    }

    @Test func `holds for one who has arrived and does not wait yet`() {
        var machine = busy()
        #expect(machine.wait(2, with: "2") == .waits)
        #expect(machine.wait(3, with: "3") == .waits)
        // It is the first one's turn: nobody gets ahead.
        #expect(machine.leave() == nil)
        #expect(machine.arrive(limit: 4) == .waits(4))
        #expect(machine.wait(1, with: "1") == .enters)
        #expect(machine.leave() == "2")
    }

    @Test func `leaves out who is cancelled, before they wait or while they do`() {
        var machine = busy()
        #expect(machine.cancel(1) == nil)
        #expect(machine.wait(2, with: "2") == .waits)
        #expect(machine.cancel(2) == "2")
        #expect(machine.leave() == nil)
        #expect(machine.wait(1, with: "1") == .goes)
        #expect(machine.wait(3, with: "3") == .enters)
        #expect(machine.waiting == 0)
    }

    @Test func `lets in who was cancelled when it was their turn already`() {
        var machine = busy()
        #expect(machine.leave() == nil)
        #expect(machine.cancel(1) == nil)
        #expect(machine.wait(1, with: "1") == .enters)
    }
}
