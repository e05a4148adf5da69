import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

@Suite struct TypedSystemTests {
    enum Step: Sendable { case up, down }

    static let inPlace: @Sendable (inout Int, Step) -> Void = { count, step in
        switch step {
        case .up: count += 1
        case .down: count -= 1
        }
    }

    static let upToThree = Feedback<Int, Step> { count in count < 3 ? .up : nil }

    @Test func `iterating starts the loop and shows every state from the initial one on`() async {
        var seen: [Int] = []
        for await count in system(initial: 0, reduce: Self.inPlace, feedbacks: [Self.upToThree]) {
            seen.append(count)
            if count == 3 { break }
        }
        #expect(seen == [0, 1, 2, 3])
    }

    @Test func `every form of reducer will do`() async {
        let pure: @Sendable (Int, Step) -> Int = { count, step in step == .up ? count + 1 : count - 1 }
        let forms: [StateSequence<Int, Step>] = [
            system(initial: 0, reduce: pure, feedbacks: [Self.upToThree], executor: .sendersThread),
            system(
                initial: 0,
                reduce: { (count, step) -> Int in
                    switch step {
                    case .up: return count + 1
                    case .down: return count - 1
                    }
                }, feedbacks: [Self.upToThree], executor: .sendersThread),
            system(
                initial: 0, reduce: Reducer<Int, Step>.returning(pure), feedbacks: [Self.upToThree],
                executor: .sendersThread),
        ]
        for form in forms {
            let loop = form.makeLoop()
            loop.start()
            #expect(loop.state == 3)
            loop.send(.down)
            #expect(loop.state == 3)
            await loop.stop()
            #expect(loop.send(.up) == .dropped(.stopped))
        }
    }

    private static func upToTwo(_ count: inout Int, _ step: Step) -> Reduction {
        guard step == .up else { return .unhandled }
        guard count < 2 else { return .stay }
        count += 1
        return .handled
    }

    @Test func `a reducer may report that an event changes nothing`() {
        let seen = Record<Int>()
        let watching = Feedback<Int, Step>.sink { count, _ in seen.add(count) }
        let ofFunction = system(initial: 0, reduce: Self.upToTwo, feedbacks: [watching], executor: .sendersThread)
        let ofCall = system(
            initial: 0, reduce: { (count: inout Int, step: Step) in Self.upToTwo(&count, step) },
            feedbacks: [watching], executor: .sendersThread)
        let ofStatements = system(
            initial: 0,
            reduce: { (count: inout Int, step: Step) in
                guard step == .up else { return .unhandled }
                guard count < 2 else { return .stay }
                count += 1
                return .handled
            }, feedbacks: [watching], executor: .sendersThread)
        let withDependency = system(
            initial: 0, reduce: Self.upToTwo, feedbacks: [{ (_: Int) -> Feedback<Int, Step> in watching }],
            dependency: 1, executor: .sendersThread)
        for (index, form) in [ofFunction, ofCall, ofStatements, withDependency].enumerated() {
            let loop = form.makeLoop()
            loop.start()
            for step in [Step.up, .down, .up, .up] { loop.send(step) }
            #expect(Array(seen.values.dropFirst(3 * index)) == [0, 1, 2], "form \(index)")
            #expect(loop.counters.transitions == 2)
            #expect(loop.counters.unhandled == 1)
            loop.cancel()
        }
    }

    @Test func `a reducer of several statements without a result changes the state`() {
        let loop = system(
            initial: 0,
            reduce: { (count: inout Int, step: Step) in
                let change = step == .up ? 1 : -1
                count += change
            }, feedbacks: [], executor: .sendersThread
        ).makeLoop()
        loop.start()
        loop.send(.up)
        loop.send(.down)
        #expect(loop.counters.transitions == 2)
        loop.cancel()
    }

    @Test func `nothing runs before the first state is asked for and all ends with the iteration`() async {
        let probe = TypedProbe<Step>()
        let states = system(
            initial: 0, reduce: Self.inPlace, feedbacks: [Feedback(lensing: { $0 }) { probe.effect($0) }],
            executor: .sendersThread)
        var iterator: StateSequence<Int, Step>.Iterator? = states.makeAsyncIterator()
        #expect(probe.log.isEmpty)
        #expect(await iterator?.next() == 0)
        #expect(probe.log == ["start 0"])
        probe.emit(.up, from: "0")
        #expect(await iterator?.next() == 1)
        iterator = nil
        #expect(probe.log == ["start 0", "cancel 0", "start 1", "cancel 1"])
    }

    @Test func `each iteration is a loop of its own`() async {
        let states = system(initial: 0, reduce: Self.inPlace, feedbacks: [Self.upToThree], executor: .sendersThread)
        var (first, second) = (states.makeAsyncIterator(), states.makeAsyncIterator())
        #expect(await first.next() == 0)
        #expect(await first.next() == 1)
        #expect(await second.next() == 0)
    }

    @Test func `cancelling the task that iterates cancels the loop`() async {
        let probe = TypedProbe<Step>()
        let started = Gate()
        let states = system(
            initial: 0, reduce: Self.inPlace, feedbacks: [Feedback(effects: { _ in probe.effect("it") })],
            executor: .sendersThread)
        let task = Task {
            var seen: [Int] = []
            for await state in states {
                seen.append(state)
                started.open()
            }
            return seen
        }
        await started.opened()
        task.cancel()
        #expect(await task.value == [0])
        #expect(probe.log == ["start it", "cancel it"])
    }

    @Test func `a slow reader keeps what the buffering says`() async {
        let (feedback, send) = Feedback<Int, Step>.input
        let states = system(initial: 0, reduce: Self.inPlace, feedbacks: [feedback], executor: .sendersThread)
            .buffering(.bufferingNewest(1))
        var iterator = states.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        for _ in 0..<10 { send(.up) }
        #expect(await iterator.next() == 10)
    }

    @Test func `a dependency is handed to the feedbacks`() {
        struct Limits: Sendable { let top: Int }
        func climb(_ limits: Limits) -> Feedback<Int, Step> {
            Feedback(predicate: { $0 < limits.top }) { _ in .just(Array(repeating: .up, count: limits.top)) }
        }
        let effect: @Sendable (Limits, Int) -> Step? = { limits, count in count > limits.top ? .down : nil }
        func fall(_ limits: Limits) -> Feedback<Int, Step> { Feedback(effects: SideEffect.make(effect, limits)) }
        let loop = system(
            initial: 0, reduce: Self.inPlace, feedbacks: [climb, fall, { _ in .sink { _, _ in } }],
            dependency: Limits(top: 5), executor: .sendersThread
        ).makeLoop()
        loop.start()
        #expect(loop.state == 5)
        loop.send(.up)
        #expect(loop.state == 5)
        let byReducer = system(
            initial: 0, reduce: Reducer<Int, Step> { count, step in Self.inPlace(&count, step) }, feedbacks: [climb],
            dependency: Limits(top: 2),
            executor: .sendersThread
        ).makeLoop()
        byReducer.start()
        let byReturning = system(
            initial: 0, reduce: { (count: Int, step: Step) -> Int in step == .up ? count + 1 : count - 1 },
            feedbacks: [climb], dependency: Limits(top: 2), executor: .sendersThread
        ).makeLoop()
        byReturning.start()
        #expect(byReducer.state == byReturning.state)
    }

    @Test func `the order is reduce then observers then feedbacks and all are there for the first state`() {
        let seen = Record<String>()
        let loop = system(
            initial: 0,
            reduce: { (count: inout Int, _: Step) in
                count += 1
                seen.add("reduce to \(count)")
            },
            feedbacks: [
                Feedback(effects: { count -> Step? in
                    seen.add("first \(count)")
                    return nil
                }),
                .eventMiddleware { (count: Int, step: Step) -> Step? in
                    seen.add("second \(count) by \(step)")
                    return nil
                },
            ], executor: .sendersThread
        ).makeLoop()
        let watching = loop.watch { seen.add("watch \($0)") }
        loop.start()
        loop.send(.up)
        watching.cancel()
        #expect(
            seen.values == ["watch 0", "first 0", "reduce to 1", "watch 1", "first 1", "second 1 by up"])
    }
}
