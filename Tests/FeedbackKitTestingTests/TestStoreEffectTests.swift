import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

extension `A test store` {
    @Test func `has failures of side effects asserted, too`() {
        let failing = answering(.attempt { _ in throw TickFailed() })
        let messages = failures {
            let store = makeStore([failing])
            store.start()
            store.send(.add(1)) { $0.count = 1 }
            #expect(store.receiveFault(from: "answering")?.error is TickFailed)
            store.send(.add(2)) { $0.count = 3 }
            store.finish()
            let other = makeStore([failing])
            other.start()
            other.receiveFault()
            other.send(.add(1)) { $0.count = 1 }
            other.finish()
        }
        #expect(
            messages == [
                "CounterEvent.add(2) was sent but not taken; it was dropped: stopped",
                "expected that a side effect fails, but none has; no side effect runs; the time is 0.0 seconds; "
                    + "no task sleeps on the clock",
                "before finish(): a side effect of 'answering' failed: TickFailed(); if this is intended, assert it with "
                    + "receiveFault",
            ])
    }

    @Test func `stops running effects, and names those that ignore their cancellation`() {
        let gate = Gate()
        let messages = failures {
            let store = makeStore([
                answering(.run { send in try? await send.clock.sleep(for: .seconds(3)) })
            ])
            store.start()
            store.send(.add(1)) { $0.count = 1 }
            store.stop()
            #expect(store.simulation.now.offset == .seconds(3))
            let stubborn = makeStore([answering(.run { _ in await gate.opened() })])
            stubborn.start()
            stubborn.send(.add(1)) { $0.count = 1 }
            stubborn.stop(within: .seconds(1))
            gate.open()
            stubborn.simulation.runUntilIdle()
            #expect(stubborn.loop.phase == .stopped)
        }
        #expect(
            messages == [
                "the loop does not end at stop(): it has been cancelled, but running: 1 side effect of answering; "
                    + "the time is 1.0 seconds; no task sleeps on the clock"
            ])
    }

    @Test func `waits in real time for events from outside the simulation`() async {
        let away = answering(
            .run { send in
                await Task.detached { try? await ContinuousClock().sleep(for: .milliseconds(2)) }.value
                send(.add(40))
            })
        let store = makeStore([away])
        store.start()
        store.send(.add(1)) { $0.count = 1 }
        await store.receive(.add(40), within: .seconds(30)) { $0.count = 41 }
        store.send(.add(1)) { $0.count = 42 }
        await store.receive(where: { $0 == .add(40) }, within: .seconds(30)) { $0.count = 82 }
        store.finish()
        let messages = await failures {
            let store = makeStore()
            store.start()
            await store.receive(CounterEvent.self, within: .milliseconds(1))
            store.finish()
        }
        #expect(
            messages == [
                "expected to receive an event of type CounterEvent, but no event arrived; no side effect runs; "
                    + "the time is 0.0 seconds; no task sleeps on the clock"
            ])
    }
}
