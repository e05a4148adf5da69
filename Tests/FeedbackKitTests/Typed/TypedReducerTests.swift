import FeedbackKit
import Testing

@Suite struct TypedReducerTests {
    static let add = Reducer<Int, Int> { $0 += $1 }
    static let double = Reducer<Int, Int>.returning { total, _ in total * 2 }

    @Test func `combined reducers work one after the other on what the one before has made`() {
        #expect(Reducer.combine(Self.add, Self.double)(state: 1, action: 2) == 6)
        #expect(Reducer.combine(Self.double, Self.add)(state: 1, action: 2) == 4)
    }

    @Test func `a pulled back reducer touches its part and hears its events only`() {
        struct Whole: Sendable, Equatable {
            var total = 1
            var other = 1
        }
        enum Event: Sendable { case add(Int), rest }
        let reducer: Reducer<Whole, Event> = Self.add.pullback(
            state: \.total,
            event: CasePath<Event, Int>(
                embed: Event.add, extract: { if case .add(let amount) = $0 { amount } else { nil } }))
        #expect(reducer(state: Whole(), action: .add(4)) == Whole(total: 5, other: 1))
        #expect(reducer(state: Whole(), action: .rest) == Whole())
    }

    @Test func `an optional reducer does nothing where there is no state`() {
        #expect(Self.add.optional()(state: 1, action: 2) == 3)
        #expect(Self.add.optional()(state: nil, action: 2) == nil)
    }

    @Test func `a logging reducer tells the event and the states around it`() {
        let seen = Record<[Int]>()
        let logging = Self.add.logging { seen.add([$0, $1, $2]) }
        #expect(logging(state: 1, action: 2) == 3)
        #expect(seen.values == [[2, 1, 3]])
    }

    @Test func `a system is reduced by what has been composed`() {
        let loop = system(
            initial: 1, reduce: Reducer.combine(Self.add, Self.double),
            feedbacks: [Feedback { total in total < 10 ? 1 : nil }], executor: .sendersThread
        ).makeLoop()
        loop.start()
        #expect(loop.state == 10)
    }
}
