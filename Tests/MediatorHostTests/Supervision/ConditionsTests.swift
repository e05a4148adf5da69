import CommonExpression
import MediatorHost
import Testing

/// A time after the beginning of 1970.
private func at(_ seconds: Int) -> Timestamp {
    guard let time = Timestamp(seconds: Int64(seconds), nanoseconds: 0) else { preconditionFailure("in range") }
    return time
}

/// The rule, as in Explanation/Supervision.md: which event ends the conditions of which source.
@Suite struct `The conditions of a system` {
    typealias Source = Conditions.Source
    typealias Event = Conditions.Event

    private final class Link: Sendable {}
    private static let links = (Link(), Link())
    private static let link = ObjectIdentifier(links.0)
    private static let other = ObjectIdentifier(links.1)

    private static let sources: [Source] = [
        .result(feedback: "a"), .result(feedback: "a", key: .int(1)), .result(feedback: "a", key: .int(2)),
        .furtherKeys(feedback: "a"), .observation(feedback: "a"), .overdue(feedback: "a", run: 1),
        .overdue(feedback: "a", run: 2), .rule("E"), .rule("F"), .rule("always"), .rule("feedback own"), .link(link),
        .store, .refusal, .whole,
    ]

    private static let table: [(event: Event, ends: [Source])] = [
        (.succeeded(feedback: "a"), [.result(feedback: "a")]),
        (
            .succeeded(feedback: "a", key: .int(1)),
            [.result(feedback: "a"), .result(feedback: "a", key: .int(1))]
        ),
        (.succeeded(feedback: "b"), []),
        (
            .handled(feedback: "a", key: .int(2)),
            [.result(feedback: "a"), .result(feedback: "a", key: .int(2))]
        ),
        (.works(feedback: "a"), [.observation(feedback: "a")]),
        (.works(feedback: "b"), []),
        (.ended(feedback: "a", run: 1), [.overdue(feedback: "a", run: 1)]),
        (
            .left(feedback: "a"),
            [
                .result(feedback: "a"), .result(feedback: "a", key: .int(1)), .result(feedback: "a", key: .int(2)),
                .furtherKeys(feedback: "a"), .observation(feedback: "a"),
            ]
        ),
        (.left(feedback: "a", key: .int(1)), [.result(feedback: "a", key: .int(1))]),
        (.left(feedback: "b"), []),
        (.took("E", settled: false), [.rule("E")]),
        (.took("E", settled: true), [.rule("E"), .rule("always"), .rule("feedback own")]),
        (.entered, [.rule("E"), .rule("F"), .rule("always"), .rule("feedback own"), .link(link)]),
        (.fired(link), [.link(link)]),
        (.stored, [.store]),
        (.accepted, [.refusal]),
        (.fired(other), []),
        (.kept(links: [link]), []),
        (.kept(links: [other]), [.link(link)]),
        (
            .reset,
            [
                .result(feedback: "a"), .result(feedback: "a", key: .int(1)), .result(feedback: "a", key: .int(2)),
                .furtherKeys(feedback: "a"), .rule("E"), .rule("F"), .rule("always"),
                .rule("feedback own"), .link(link), .whole,
            ]
        ),
    ]

    private static func fault(_ message: String = "") -> Fault {
        Fault(part: "it", message: message, condition: .whole)
    }

    private static func conditions(_ sources: [Source]) -> Conditions {
        var conditions = Conditions()
        for (index, source) in sources.enumerated() {
            let isNew1 = conditions.begin(source, fault("\(index)"), at: at(index))
            #expect(isNew1)
        }
        return conditions
    }

    @Test(arguments: table.indices) func `end as the table says`(row: Int) {
        let (event, expected) = Self.table[row]
        var conditions = Self.conditions(Self.sources)
        let ended = conditions.end(by: event)
        #expect(Set(ended.map(\.source)) == Set(expected), "\(event)")
        #expect(Set(conditions.all.map(\.source)) == Set(Self.sources).subtracting(expected), "\(event)")
        #expect(conditions.isDegraded && conditions.count == Self.sources.count - expected.count)
    }

    @Test func `end with a restart, except a refusal of the store`() {
        var conditions = Self.conditions(Self.sources)
        conditions.restart()
        #expect(conditions.all.map(\.source) == [.refusal] && conditions.isDegraded)
        _ = conditions.end(by: .accepted)
        #expect(!conditions.isDegraded)
    }

    @Test func `go on where their source fails again at the same time`() {
        var conditions = Self.conditions([.rule("E"), .rule("always")])
        let ended = conditions.end(by: .entered, unless: [.rule("always")])
        #expect(ended.map(\.source) == [.rule("E")])
        #expect(conditions.oldest?.source == .rule("always"))
        #expect(conditions.oldest?.since == at(1))
    }

    @Test func `keep their beginning and tell the last failure`() {
        var conditions = Conditions()
        #expect(!conditions.isDegraded && conditions.oldest == nil)
        let isNew2 = conditions.begin(.rule("E"), Self.fault("first"), at: at(1))
        #expect(isNew2)
        let isNew3 = conditions.begin(.rule("E"), Self.fault("second"), at: at(2))
        #expect(!isNew3)
        let isNew4 = conditions.begin(.rule("F"), Self.fault("third"), at: at(2))
        #expect(isNew4)
        #expect(conditions.oldest?.fault.message == "second" && conditions.oldest?.since == at(1))
        #expect(conditions.count == 2)
        _ = conditions.end(by: .took("E", settled: false))
        #expect(conditions.oldest?.fault.message == "third")
        let ended5 = conditions.end(by: .entered)
        #expect(ended5.count == 1)
        #expect(!conditions.isDegraded && conditions.oldest == nil && conditions.all.isEmpty)
    }

    @Test func `tell apart a limited number of keys, and forget the others only with the state`() {
        var conditions = Conditions()
        for key in 0..<100 {
            _ = conditions.begin(
                .result(feedback: "a", key: .int(Int64(key))), Self.fault(), at: at(key))
        }
        #expect(conditions.count == Conditions.mostKeys + 1)
        for key in 0..<100 { _ = conditions.end(by: .succeeded(feedback: "a", key: .int(Int64(key)))) }
        #expect(conditions.all.map(\.source) == [.furtherKeys(feedback: "a")])
        #expect(conditions.hasCondition(of: "a") && !conditions.hasCondition(of: "b"))
        let ended6 = conditions.end(by: .left(feedback: "a"))
        #expect(ended6.count == 1)
    }
}

@Suite struct `The book of runs` {
    private static let now = at(0)

    @Test(arguments: [
        (limit: RunBook.Limit.declared(.seconds(5)), allowed: Duration.seconds(15)),
        (limit: .ticks(.milliseconds(110), count: 10), allowed: .seconds(10)),
        (limit: .ticks(.seconds(110), count: 10), allowed: .seconds(110)),
    ]) func `finds a run that takes longer than it may, until it ends`(limit: RunBook.Limit, allowed: Duration) {
        var book = RunBook()
        let run = book.begin(limit, at: .seconds(1), Self.now)
        var elapsed = Duration.seconds(1)
        while elapsed < .seconds(1) + allowed {
            elapsed = min(elapsed + .seconds(4), .seconds(1) + allowed)
            let late7 = book.overdue(at: elapsed)
            #expect(late7.isEmpty)
        }
        let late8 = book.overdue(at: elapsed + .milliseconds(1))
        #expect(late8.map(\.number) == [run])
        #expect(book.contains(run))
        book.end(run)
        let late9 = book.overdue(at: elapsed + .seconds(9))
        #expect(late9.isEmpty && !book.contains(run))
    }

    @Test func `never finds a run without a limit`() {
        var book = RunBook()
        _ = book.begin(nil, at: .zero, Self.now)
        for second in 0..<10_000 {
            let late = book.overdue(at: .seconds(second))
            #expect(late.isEmpty)
        }
    }

    @Test func `does not count the time for which the machine slept`() {
        var book = RunBook()
        let run = book.begin(.declared(.seconds(5)), at: .zero, Self.now)
        let late10 = book.overdue(at: .seconds(3600))
        #expect(late10.isEmpty)
        let late11 = book.overdue(at: .seconds(3604))
        #expect(late11.isEmpty)
        let late12 = book.overdue(at: .seconds(3606))
        #expect(late12.map(\.number) == [run])
    }
}
