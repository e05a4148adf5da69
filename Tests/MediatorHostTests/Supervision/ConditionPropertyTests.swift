import CommonExpression
import MediatorHost
import Testing
import TestSupport

/// A feedback of a random system, as a model.
private struct Part {
    enum Form: CaseIterable { case once, ticks, limited, handled, sees }
    let name: String
    let form: Form
    let isInBothStates: Bool
    let goesOn: Bool
    /// The last result is bad.
    var isBad = false
    /// A side effect that observes has ended by itself.
    var hasEnded = false
    /// A state asks for the feedback.
    var isAsked = true
    /// The number of the present stretch. A new one begins when the system enters a state that does not ask.
    var stretch = 0
    /// The second in which each run at work began, and its stretch.
    var running: [(second: Int, stretch: Int)] = []

    init(_ name: String, _ dice: inout Dice) {
        self.name = name
        form = Form.allCases.randomElement(using: &dice) ?? .once
        goesOn = Bool.random(using: &dice)
        isInBothStates = Bool.random(using: &dice)
    }

    var text: String {
        let effect =
            switch form {
            case .once: "act: \(name)"
            case .ticks: "every: 5s, act: \(name)"
            case .limited: "every: 5s, timeout: 3s, act: \(name)"
            case .handled: "every: 5s, act: \(name), onFailure: Ok"
            case .sees: "see: \(name), onSeen: Ok"
            }
        let strategy = goesOn ? "strategy: continueOnNewState, " : ""
        return "  \(name): { onState: \(isInBothStates ? "any" : "On"), \(strategy)\(effect) }\n"
    }

    /// Follows an action of the side effect.
    mutating func follow(_ deed: Acts.Deed, at second: Int) {
        switch deed {
        case .began: running.append((second, stretch))
        case .ended(isCancelled: false): running.removeLast()
        case .ended(isCancelled: true):
            let run = running.removeFirst()
            // Nothing else but its time limit cancels a run in a state that asks for it.
            if run.stretch == stretch { isBad = true }
        case .did(let act):
            switch (form, act) {
            case (.sees, .cannot), (.sees, .isSilent):
                isBad = true
                hasEnded = act == .isSilent
            case (.sees, .succeeds), (.sees, .fails): isBad = false
            case (.sees, _), (_, .hangs), (_, .resists): break
            case (.handled, .fails), (.handled, .isLate): isBad = false
            case (_, .fails), (_, .isLate), (_, .cannot): isBad = true
            case (_, .succeeds), (_, .isSilent): isBad = false
            }
        }
    }

    /// Whether a run is overdue: eleven ticks of five seconds have passed, which is more than ten seconds.
    func isOverdue(at second: Int) -> Bool {
        (form == .ticks || form == .handled) && running.contains { second - $0.second > 55 }
    }

    func isWell(at second: Int) -> Bool { (!isBad || !isAsked) && !isOverdue(at: second) }
}

/// Random systems with side effects that fail, hang and recover, and a model of their health.
@Suite(.timeLimit(.minutes(60))) struct `The health of random systems` {
    @Test func `is never better than its worst part, and never worse when all parts are well`() async throws {
        for seed in 0..<UInt64(repetitions(300 * soakFactor)) {
            var dice = Dice(state: seed)
            try await run(&dice, seed)
        }
    }

    private func run(_ dice: inout Dice, _ seed: UInt64) async throws {
        var parts = (0..<Int.random(in: 1...3, using: &dice)).map { Part("p\($0)", &dice) }
        let fixture = try ConditionFixture(
            """
            system: s
            states: { On: {}, Off: {} }
            events: { Go: {}, Ok: {}, Divide: { by: int } }
            fromOutside: any
            initialState: On
            feedbacks:
            \(parts.map(\.text).joined())
            transitions:
              On: { Go: Off }
              Off: { Go: On }
              any: { Ok: stay, Divide: { when: 1 / event.by == 7, to: On } }
            """)
        var (isOn, hasFault, second) = (true, false, 0)
        var story: [String] = []
        func follow() {
            for (name, deed) in fixture.acts.takeDeeds() {
                guard let index = parts.firstIndex(where: { $0.name == name }) else { continue }
                parts[index].follow(deed, at: second)
            }
        }
        func check() throws {
            let isWell = !hasFault && parts.allSatisfy { $0.isWell(at: second) }
            let reason = try fixture.reason()
            #expect((reason == "healthy") == isWell, "seed \(seed): \(reason), \(story), \(parts)")
        }
        await fixture.start()
        follow()
        try check()
        for _ in 0..<Int.random(in: 5...25, using: &dice) {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<3:
                let part = parts.randomElement(using: &dice)?.name ?? ""
                let acts: [Acts.Act] = [.succeeds, .fails, .cannot, .hangs, .isSilent]
                fixture.acts[part] = acts.randomElement(using: &dice) ?? .succeeds
                story.append("\(part) \(fixture.acts[part])")
            case 3..<7:
                let isLong = Int.random(in: 0..<8, using: &dice) == 0
                let seconds = Int.random(in: isLong ? 50...70 : 1...8, using: &dice)
                story.append("\(seconds) s")
                for _ in 0..<seconds {
                    second += 1
                    await fixture.pass()
                    follow()
                }
            case 7:
                let by = Int64.random(in: 0...1, using: &dice)
                story.append("divide \(by)")
                try await fixture.emit("Divide", .int(by))
                hasFault = by == 0
            default:
                story.append("go")
                try await fixture.emit("Go")
                isOn.toggle()
                hasFault = false
                leave(&parts, isOn, fixture.acts.takeDeeds(), at: second)
            }
            try check()
        }
        await fixture.host.stop(within: .zero)
    }

    /// Follows a new state, which ends some runs and results and begins other runs.
    private func leave(
        _ parts: inout [Part], _ isOn: Bool, _ deeds: [(name: String, deed: Acts.Deed)], at second: Int
    ) {
        for index in parts.indices where !parts[index].isInBothStates {
            parts[index].isAsked = isOn
            // A run that goes on still observes when a state asks for it again.
            let observes = parts[index].form == .sees && parts[index].goesOn
            if observes ? isOn && parts[index].hasEnded : !isOn {
                parts[index].isBad = false
                parts[index].hasEnded = false
            }
            if !isOn { parts[index].stretch += 1 }
        }
        for (name, deed) in deeds {
            guard let index = parts.firstIndex(where: { $0.name == name }) else { continue }
            let before = parts[index].isBad
            parts[index].follow(deed, at: second)
            // The new state has cancelled this run, which says nothing of how it went.
            if case .ended(isCancelled: true) = deed { parts[index].isBad = before }
        }
    }
}
