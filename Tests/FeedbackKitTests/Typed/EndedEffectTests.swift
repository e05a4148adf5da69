import FeedbackKit
import Testing

/// The events of effects that have ended, under the rules of the originals.
///
/// Most tests have each feedback twice, and both answer the first state at once. So the answer of the second one waits
/// when the first one's leads to another state.
@Suite struct `Events of effects that have ended` {
    private typealias Words = Feedback<String, String>

    /// CombineFeedback and Feedbacks take the second answer.
    private static let taken = ["initial", "initial_a", "initial_a_a"]
    /// ReactiveFeedback and RxFeedback withdraw it.
    private static let withdrawn = ["initial", "initial_a"]

    private static let holds: @Sendable (String) -> Bool = { $0 == "initial" }
    private static let part: @Sendable (String) -> Int? = { $0 == "initial" ? 1 : nil }
    private static let answer: @Sendable (String) -> String? = { $0 == "initial" ? "_a" : nil }
    private static let always: @Sendable (String) -> String? = { _ in "_a" }
    private static let ofPart: @Sendable (Int) -> String? = { _ in "_a" }

    /// The operators that CombineFeedback and ReactiveFeedback share.
    enum Operator: CaseIterable {
        case effects, effectsInitializer, middleware, predicate, predicateInitializer, whenBecomesTrue
        case firstValueAfterNil, skippingRepeated, skippingRepeatedInitializer, lensing, compacting
    }

    private static func feedback(_ name: Operator, _ rule: CancellationRule<String>) -> Words {
        switch name {
        case .effects: Words.effects(cancellation: rule, answer)
        case .effectsInitializer: Words(cancellation: rule, effects: answer)
        case .middleware: Words.middleware(cancellation: rule, answer)
        case .predicate: Words.predicate(cancellation: rule, predicate: holds, effects: always)
        case .predicateInitializer: Words(cancellation: rule, predicate: holds, effects: always)
        case .whenBecomesTrue: Words.whenBecomesTrue(cancellation: rule, holds, effects: always)
        case .firstValueAfterNil: Words.firstValueAfterNil(cancellation: rule, part, effects: ofPart)
        case .skippingRepeated: Words.skippingRepeated(cancellation: rule, state: part, effects: ofPart)
        case .skippingRepeatedInitializer: Words(cancellation: rule, skippingRepeated: part, effects: ofPart)
        case .lensing: Words.lensing(cancellation: rule, state: part, effects: ofPart)
        case .compacting:
            Words.compacting(
                cancellation: rule, state: { states in states.map(holds) },
                effects: { (holds: Bool) -> String? in holds ? "_a" : nil })
        }
    }

    /// Appends each event to the text, and returns all states.
    private func states(_ feedbacks: [Words], sending event: String? = nil) -> [String] {
        let seen = Record<String>()
        let watching = Words.sink { state, _ in seen.add(state) }
        let loop = Loop<String, String>(
            initial: "initial", feedbacks: [watching] + feedbacks, executor: .sendersThread
        ) { text, event in
            text += event
            return .handled
        }
        loop.start()
        if let event { loop.send(event) }
        loop.cancel()
        return seen.values
    }

    @Test(arguments: Operator.allCases)
    func `the rule of an operator decides about the answer of an effect that has ended`(name: Operator) {
        let (plain, bound) = (Self.feedback(name, .onNewState), Self.feedback(name, .boundToState))
        #expect(states([plain, plain]) == Self.taken)
        #expect(states([bound, bound]) == Self.withdrawn)
    }

    @Test(arguments: [false, true])
    func `of two feedbacks that always answer, the rule decides whether the second one gets through`(isBound: Bool) {
        let rule: CancellationRule<String> = isBound ? .boundToState : .onNewState
        func answering(_ text: String) -> Words {
            .effects(cancellation: rule) { (state: String) -> String? in state.count < 40 ? text : nil }
        }
        #expect(
            states([answering("_a"), answering("_b")]).prefix(5).last
                == (isBound ? "initial_a_a_a_a" : "initial_a_b_a_b"))
    }

    @Test func `a request that goes withdraws everything that it has led to`() {
        let requests: @Sendable (String) -> Set<Int> = { $0 == "initial" ? [1] : [] }
        let byName: @Sendable (String) -> [String: Int] = { $0 == "initial" ? ["one": 1] : [:] }
        let feedbacks: [Words] = [
            .react(request: Self.part, effects: Self.ofPart),
            .react(requests: requests, effects: Self.ofPart),
            .react(requests: byName, effects: { (_: Int, _: AsyncStream<Int>) -> String? in "_a" }),
        ]
        for feedback in feedbacks { #expect(states([feedback, feedback]) == Self.withdrawn) }
    }

    @Test(arguments: [false, true])
    func `another event of the kind withdraws the answer to the one before, if the rule says so`(isBound: Bool) {
        let rule: CancellationRule<String> = isBound ? .boundToState : .onNewState
        let isX: @Sendable (String) -> Int? = { $0 == "x" ? 0 : nil }
        // Its event comes before the answer to the first one.
        let again = Words(
            name: "again", cancellation: .never, answer: { (text, _) -> String? in text == "initialx" ? "x" : nil })
        let feedbacks: [Words] = [
            .lensing(cancellation: rule, event: isX, effects: Self.ofPart),
            .compacting(cancellation: rule, events: { events in events.compactMap(isX) }, effects: Self.ofPart),
        ]
        for feedback in feedbacks {
            let expected = ["initial", "initialx", "initialxx", "initialxx_a"] + (isBound ? [] : ["initialxx_a_a"])
            #expect(states([again, feedback], sending: "x") == expected)
        }
    }

    @Test func `the rule of an operator stays the same in a larger loop, and in a loop of its parts`() throws {
        let feedback = Words.react(request: Self.part, effects: Self.ofPart)
        let pulled: Words = feedback.pullback(
            state: { (text: String) -> String? in text }, embed: { (event: String) -> String in event },
            extract: { (event: String) -> String? in event })
        #expect(states([pulled, pulled]) == Self.withdrawn)
        let loop = Loop<String, String>(initial: "", feedbacks: [feedback, feedback]) { _, _ in .stay }
        let parts = try #require(loop.parts)
        #expect(states(parts.feedbacks) == Self.withdrawn)
    }

    @Test func `an operator whose rule cancels nothing lets its effects run beside each other`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1, KnobFeedback(cancellation: .never, skippingRepeated: { $0.control }) { probe.effect($0) })
        loop.send(.turn(2))
        loop.send(.turn(nil))
        #expect(probe.log == ["start 1", "start 2"])
        loop.cancel()
        #expect(probe.log == ["start 1", "start 2", "cancel 1", "cancel 2"])
    }

    @Test func `an operator asks the condition of its rule only where it ends an effect or starts another one`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1,
            KnobFeedback(cancellation: .when { $0.other > 0 }, skippingRepeated: { $0.control }) { probe.effect($0) })
        loop.send(.turn(2))
        loop.send(.other)
        #expect(probe.log == ["start 1", "start 2"])
        loop.send(.turn(3))
        #expect(probe.log == ["start 1", "start 2", "cancel 1", "cancel 2", "start 3"])
        loop.cancel()
    }
}
