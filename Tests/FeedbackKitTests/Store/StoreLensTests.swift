import FeedbackKit
import Testing

@Suite struct StoreLensTests {
    struct Name: Equatable, Sendable {
        var display = "Evan"
        var short = "E"
    }
    struct Information: Equatable, Sendable { var name = Name() }
    struct User: Equatable, Sendable {
        var information = Information()
        var age = 1
    }
    struct Whole: Equatable, Sendable {
        var user = User()
        var count = 0
    }
    enum NameAction: Sendable { case display(String), short(String) }
    enum InformationAction: Sendable { case name(NameAction) }
    enum UserAction: Sendable { case information(InformationAction), age(Int) }
    enum WholeAction: Sendable { case user(UserAction), count(Int) }

    let store = BaseStore<Whole, String, WholeAction>(
        state: Whole(),
        reducer: Reducer<Whole, WholeAction> { state, action in
            switch action {
            case .count(let count): state.count = count
            case .user(.age(let age)): state.user.age = age
            case .user(.information(.name(.display(let name)))): state.user.information.name.display = name
            case .user(.information(.name(.short(let name)))): state.user.information.name.short = name
            }
        },
        thunk: Thunk { (_, action, _) -> [EitherAction<String, WholeAction>] in
            [.sync(.user(.information(.name(.short(action)))))]
        }, publishOn: .sendersThread)

    @Test func `a lens on a lens on a lens on a lens reads and writes its part`() async {
        let name = store.lensing(state: \.user, actions: { .user($0) })
            .lensing(state: { $0.information }, actions: { .information($0) })
            .lensing(state: \.name, actions: { .name($0) })
        let display = name.lensing(state: \.display, actions: { .display($0) })
        let changes = Record<String>()
        let updates = Record<String>()
        let subscriptions = [display.watchChanges { changes.add($0) }, display.watchStates { updates.add($0) }]
        #expect(display.state == "Evan")
        display.dispatch(sync: "Dan")
        #expect(store.state.user.information.name.display == "Dan")
        store.dispatch(sync: .count(3))
        name.dispatch(sync: .short("D"), .display("Dan"))
        display.dispatch(.sync("Ben", "Benjamin"), .async("B"))
        #expect(changes.values == ["Evan", "Dan", "Benjamin"])
        #expect(updates.values == ["Evan", "Dan", "Dan", "Dan", "Benjamin", "Benjamin"])
        #expect(store.state.user.information.name == Name(display: "Benjamin", short: "B"))
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `a store without its base has lenses, too`() async {
        let erased = store.eraseToAnyStore()
        let existential: any StoreProtocol<Whole, String, WholeAction> = store
        let parts: [AnyStore<Name, String, NameAction>] = [
            erased.lensing(state: \.user.information.name, actions: { .user(.information(.name($0))) }),
            existential.lensing(state: \.user.information.name, actions: { .user(.information(.name($0))) }),
        ]
        let seen = Record<String>()
        let watching = parts.map { part in
            part.lensing(state: \.short).watchChanges { seen.add($0) }
        }
        for (index, part) in parts.enumerated() {
            part.dispatch(sync: .display("\(index)"))
            #expect(part.state.display == "\(index)")
            await part.dispatch(async: "S\(index)").ended()
        }
        #expect(seen.values == ["E", "E", "S0", "S0", "S1", "S1"])
        let counts = erased.lensing(state: \.count).lensing(actions: { (count: Int) in .count(count) })
        #expect(await counts.dispatch(.sync(4, 5), .async("T")).value == .finished)
        #expect(counts.state == 5 && store.state.user.information.name.short == "T")
        withExtendedLifetime(watching) {}
    }

    @Test func `a store that can only be read has lenses, too`() {
        let reader = store.readOnly.lensing(state: \.user).lensing(state: \.age)
        let (changes, updates) = (Record<Int>(), Record<Int>())
        let watching = [reader.watchChanges { changes.add($0) }, reader.watchStates { updates.add($0) }]
        store.dispatch(sync: .user(.age(2)))
        store.dispatch(sync: .count(7))
        #expect(reader.state == 2)
        #expect(changes.values == [1, 2])
        #expect(updates.values == [1, 2, 2])
        withExtendedLifetime(watching) {}
    }

    @Test func `a lens may narrow the state only, or the actions only`() {
        let ages = store.lensing(state: \.user.age)
        ages.dispatch(sync: .user(.age(7)))
        #expect(ages.state == 7)
        let counting = store.lensing(actions: { WholeAction.count($0) })
        counting.dispatch(sync: 4)
        #expect(counting.state.count == 4)
        #expect(ages.lensing(actions: { .user(.age($0)) }).dispatch(sync: 8).result == .accepted)
        #expect(ages.lensing(state: { $0 > 7 }).state)
    }

    @Test func `an erased store, a read-only one and a write-only one are the same store`() async {
        let counting = store.lensing(state: \.count, actions: { .count($0) })
        let erased = counting.eraseToAnyStore().eraseToAnyStore()
        let existential: any StoreProtocol<Int, String, Int> = counting
        let reader = erased.readOnly
        let writer = erased.writeOnly
        erased.dispatch(sync: 1)
        #expect(existential.state == 1)
        writer.lensing(actions: { (text: String) in text.count }).dispatch(sync: "four")
        #expect(reader.state == 4)
        await writer.dispatch(async: "x").ended()
        #expect(store.state.user.information.name.short == "x")
        let seen = Record<Int>()
        let subscription = reader.watchChanges { seen.add($0) }
        existential.dispatch(sync: 9)
        #expect(seen.values == [4, 9])
        withExtendedLifetime(subscription) {}
    }

    @Test func `a logger receives actions and differences, line by line`() {
        let lines = Record<String>()
        let subscription = store.logging { lines.add($0) }
        store.dispatch(sync: .user(.age(2)), .count(5))
        store.dispatch(sync: .count(5))
        store.dispatch(async: "s")
        #expect(
            lines.values == [
                "action WholeAction.user(UserAction.age(2))", "action WholeAction.count(5)",
                "  user.age: 1 → 2", "  count: 0 → 5",
                "action WholeAction.count(5)", "  no change",
                "async \"s\"",
                "action WholeAction.user(UserAction.information(InformationAction.name(NameAction.short(\"s\"))))",
                "  user.information.name.short: \"E\" → \"s\"",
            ])
        subscription.cancel()
        store.dispatch(sync: .count(6))
        #expect(lines.values.count == 9)
    }

    @Test func `a logger also receives the async actions of serial dispatches`() async {
        let lines = Record<String>()
        let subscription = store.logging(.asyncActions) { lines.add($0) }
        await store.dispatch(serially: true, async: "a", "b").ended()
        #expect(lines.values == ["async \"a\"", "async \"b\""])
        subscription.cancel()
        await store.dispatch(serially: true, async: "c").ended()
        #expect(lines.values.count == 2)
    }

    indirect enum Chain: Sendable { case end, link(Chain) }

    @Test func `a state that is nested two thousand deep is told apart as far as it is read`() {
        var (short, long) = (Chain.end, Chain.link(.end))
        for _ in 0..<2_000 { (short, long) = (.link(short), .link(long)) }
        #expect(
            StateDifference.lines(from: short, to: long) == [
                "… the same as far as it is compared: 24 levels deep, 20000 parts wide"
            ])
        let lines = StateDifference.lines(from: short, to: Chain.link(.end))
        #expect(lines.count == 1 && lines[0].count < 1_000)
        withExtendedLifetime((short, long)) {}
    }

    @Test func `differences name the place, and are bounded`() {
        #expect(StateDifference.lines(from: [1, 2, 3], to: [1, 5]) == ["[1]: 2 → 5", "[2]: removed 3"])
        #expect(StateDifference.lines(from: (1 as Int?) as Any, to: (nil as Int?) as Any) == ["1 → nil"])
        #expect(StateDifference.lines(from: User(), to: User()).isEmpty)
        #expect(
            StateDifference.lines(from: ["a": 1, "b": 2, "c": 3], to: ["b": 2, "c": 4, "d": 5])
                == ["[\"a\"]: removed 1", "[\"c\"]: 3 → 4", "[\"d\"]: added 5"])
        #expect(StateDifference.lines(from: Set([1, 2]), to: Set([2, 3])) == ["removed 1", "added 3"])
        #expect(
            StateDifference.lines(from: WholeAction.user(.age(1)), to: WholeAction.user(.age(2))) == ["1 → 2"])
        #expect(
            StateDifference.lines(from: WholeAction.count(1), to: WholeAction.user(.age(2)))
                == ["WholeAction.count(1) → WholeAction.user(UserAction.age(2))"])
        let many = StateDifference.lines(from: [Int](repeating: 0, count: 1_000), to: [Int](repeating: 1, count: 1_000))
        #expect(many.count == StateDifference.maximumLines + 1 && many.last == "…")
    }
}
