import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

/// The values of publishers that have completed, under the rules of the originals.
///
/// Each feedback is there twice, and both publishers answer the first state at once. So the value of the second one
/// waits when the first one's leads to another state.
@Suite(.timeLimit(.minutes(5)))
struct EndedEffectTests {
    private typealias Words = Feedback<String, String>

    /// CombineFeedback and Feedbacks take the second value.
    private static let taken = ["initial", "initial_a", "initial_a_a"]
    /// ReactiveFeedback and RxFeedback withdraw it.
    private static let withdrawn = ["initial", "initial_a"]

    private static let holds: @Sendable (String) -> Bool = { $0 == "initial" }
    private static let part: @Sendable (String) -> Int? = { $0 == "initial" ? 1 : nil }
    private static let answer: @Sendable (String) -> AnyPublisher<String, Never> = { text in
        text == "initial" ? Just("_a").eraseToAnyPublisher() : Empty().eraseToAnyPublisher()
    }
    private static let always: @Sendable (String) -> Just<String> = { _ in Just("_a") }
    private static let ofPart: @Sendable (Int) -> Just<String> = { _ in Just("_a") }

    /// The operators that CombineFeedback and ReactiveFeedback share.
    enum Operator: CaseIterable {
        case effects, effectsInitializer, middleware, predicate, predicateInitializer
        case whenBecomesTrue, whenBecomesTrueInitializer, firstValueAfterNil, firstValueAfterNilInitializer
        case skippingRepeated, skippingRepeatedInitializer, lensing, lensingInitializer, compacting
    }

    private static func feedback(_ name: Operator, _ rule: CancellationRule<String>) -> Words {
        switch name {
        case .effects: Words.effects(cancellation: rule, answer)
        case .effectsInitializer: Words(cancellation: rule, effects: answer)
        case .middleware: Words.middleware(cancellation: rule, answer)
        case .predicate: Words.predicate(cancellation: rule, predicate: holds, effects: always)
        case .predicateInitializer: Words(cancellation: rule, predicate: holds, effects: always)
        case .whenBecomesTrue: Words.whenBecomesTrue(cancellation: rule, holds, effects: always)
        case .whenBecomesTrueInitializer: Words(cancellation: rule, whenBecomesTrue: holds, effects: always)
        case .firstValueAfterNil: Words.firstValueAfterNil(cancellation: rule, part, effects: ofPart)
        case .firstValueAfterNilInitializer: Words(cancellation: rule, firstValueAfterNil: part, effects: ofPart)
        case .skippingRepeated: Words.skippingRepeated(cancellation: rule, state: part, effects: ofPart)
        case .skippingRepeatedInitializer: Words(cancellation: rule, skippingRepeated: part, effects: ofPart)
        case .lensing: Words.lensing(cancellation: rule, state: part, effects: ofPart)
        case .lensingInitializer: Words(cancellation: rule, lensing: part, effects: ofPart)
        case .compacting: Words.compacting(cancellation: rule, state: { states in states.map { $0 } }, effects: answer)
        }
    }

    /// Appends each event to the text, with a feedback twice, and returns all states.
    private func states(_ feedback: Words) -> [String] {
        let seen = Log<String>()
        let watching = Words.sink { state, _ in seen.add(state) }
        let loop = Loop<String, String>(
            initial: "initial", feedbacks: [watching, feedback, feedback], executor: .sendersThread
        ) { text, event in
            text += event
            return .handled
        }
        loop.start()
        loop.cancel()
        return seen.entries
    }

    @Test(arguments: Operator.allCases)
    func `the rule of an operator decides about the value of a publisher that has completed`(name: Operator) {
        #expect(states(Self.feedback(name, .onNewState)) == Self.taken)
        #expect(states(Self.feedback(name, .boundToState)) == Self.withdrawn)
    }

    @Test func `a request that goes withdraws everything that it has led to`() {
        let requests: @Sendable (String) -> Set<Int> = { $0 == "initial" ? [1] : [] }
        #expect(states(.react(request: Self.part, effects: Self.ofPart)) == Self.withdrawn)
        #expect(states(.react(requests: requests, effects: Self.ofPart)) == Self.withdrawn)
    }

    @Test func `a feedback of a system takes the value in any later state`() {
        let seen = Log<Int>()
        let feedback = Feedback(on: CountState.self, while: { $0.value == 0 }) {
            state -> AnyPublisher<any Event, Never> in
            let events: [any Event] = state.value == 0 ? [AddEvent(amount: 1), AddEvent(amount: 10)] : []
            return events.publisher.eraseToAnyPublisher()
        }
        let system = System.counter(
            feedback.onStateReceived { if let count = ($0 as? CountState)?.value { seen.add(count) } })
        system.start()
        #expect(seen.entries == [0, 1, 11])
        system.cancel()
    }
}
