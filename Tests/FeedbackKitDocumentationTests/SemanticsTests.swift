import Dispatch
import FeedbackKit
import Synchronization
import Testing

/// Collects lines in order.
final class Seen: Sendable {
    private let storage = Mutex<[String]>([])
    var lines: [String] { storage.withLock { $0 } }
    func add(_ line: String) { storage.withLock { $0.append(line) } }
}

// snippet: queue
struct OnQueue: LoopExecutor {
    let queue: DispatchQueue
    var eventsPerTurn: Int { 256 }
    func enqueue(_ turn: @escaping @Sendable () -> Void) { queue.async(execute: turn) }
}
// end

@Suite(.timeLimit(.minutes(5))) struct `The page about semantics` {
    @Test func `shows each state to all feedbacks before the next event`() {
        // snippet: order
        let seen = Seen()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in seen.add("first \(state)") },
                Feedback(name: "next", answer: { state, _ in state < 2 ? state + 1 : nil }),
                .sink { state, _ in seen.add("last \(state)") },
            ],
            executor: .sendersThread
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        // first 0, last 0, first 1, last 1, first 2, last 2
        // end
        #expect(seen.lines == ["first 0", "last 0", "first 1", "last 1", "first 2", "last 2"])
    }

    @Test func `discards the changes of a reducer that does not handle the event`() {
        // snippet: unhandled
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread) { state, event in
            state += event
            return event < 0 ? .unhandled : event == 0 ? .stay : .handled
        }
        loop.start()
        loop.send(-5)
        loop.send(0)
        loop.send(2)
        // The state is 2; of three events one was unhandled, and one led to a new state.
        // end
        #expect(loop.state == 2)
        #expect(loop.counters.events == 3)
        #expect(loop.counters.unhandled == 1)
        #expect(loop.counters.transitions == 1)
    }

    @Test func `takes the events before a graceful stop, and none after it`() async {
        // snippet: life
        let loop = Loop<Int, Int>(initial: 0) { state, event in
            state += event
            return .handled
        }
        loop.send(1)  // waits for the start
        loop.start()
        loop.send(2)
        await loop.stop()
        let late = loop.send(3)
        // The state is 3, and late is .dropped(.stopped).
        // end
        #expect(loop.state == 3)
        #expect(late == .dropped(.stopped))
    }

    @Test func `discards events that wait for a start that never comes`() async {
        let loop = Loop<Int, Int>(initial: 0) { _, _ in .handled }
        loop.send(1)
        await loop.stop()
        #expect(loop.phase == .stopped)
        #expect(loop.counters.refused == 1)
        #expect(loop.counters.events == 0)
    }

    @Test func `shows states to feedbacks in a graceful stop, but refuses their events`() async {
        let seen = Seen()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in
                    seen.add("\(state)")
                },
                Feedback(name: "stopper", answer: { state, _ in state == 1 ? 10 : nil }),
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        // The marker runs between the two events, so the second event waits while the stop begins.
        loop.send(0)
        loop.afterPending { [weak loop] in loop?.beginStop() }
        loop.send(1)
        loop.start()
        await loop.stopped()
        #expect(seen.lines == ["0", "0", "1"])
        #expect(loop.state == 1)
        #expect(loop.counters.refused == 1)
    }

    @Test func `keeps the fault of a side effect that throws`() async {
        // snippet: fault
        struct Broken: Error {}
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback(name: "probe") { _, _ in .attempt { _ in throw Broken() } }]
        ) { _, _ in .unhandled }
        do {
            try await loop.run()
        } catch {
            // error.feedback is "probe", error.error is Broken(), and loop.fault is the same fault.
        }
        // end
        #expect(loop.fault?.feedback == "probe")
        #expect(loop.fault?.error is Broken)
        #expect(loop.phase == .stopped)
    }

    @Test func `drops events of senders that cannot wait, and takes the others`() async {
        // snippet: back-pressure
        let loop = Loop<Int, Int>(initial: 0, mailboxLimit: 1, overflow: .block) { state, event in
            state += event
            return .handled
        }
        let first = loop.send(1)  // .accepted
        let second = loop.send(2)  // .dropped(.mailboxFull)
        loop.start()
        let third = await loop.sendWhenRoom(3)  // .accepted
        // end
        #expect((first, second, third) == (.accepted, .dropped(.mailboxFull), .accepted))
        await loop.stop()
        #expect(loop.state == 4)
    }

    @Test(arguments: [false, true])
    func `runs on a dispatch queue`(isConcurrent: Bool) async {
        let queue = DispatchQueue(label: "loop", attributes: isConcurrent ? .concurrent : [])
        let key = DispatchSpecificKey<String>()
        queue.setSpecific(key: key, value: "here")
        let elsewhere = Seen()
        let isHere: @Sendable () -> Bool = { DispatchQueue.getSpecific(key: key) == "here" }
        let loop = Loop<Int, Int>(initial: 0, executor: OnQueue(queue: queue)) { state, event in
            if !isHere() { elsewhere.add("\(event)") }
            state += event
            return .handled
        }
        loop.start()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<1_000 { loop.send(1) } } }
        }
        await loop.stop()
        #expect(loop.state == 4_000)
        #expect(elsewhere.lines.isEmpty)
    }

    @Test func `gives each executor the share of events that the table says`() {
        let actor = MainActor.shared
        #expect(SharedPool().eventsPerTurn == 256)
        #expect(SendersThread().eventsPerTurn == .max)
        #expect(OnActor(actor).eventsPerTurn == 64)
        #expect(OnActor(actor).taskExecutor == nil)
    }
}
