/// Which event a test expects to receive.
struct EventPattern<Event: Sendable> {
    /// As a message names it.
    let name: String
    let matches: (Event) -> Bool
    /// What differs between the event that was expected and this one, for a message.
    var difference: (Event) -> String = { _ in "" }

    /// This one.
    static func equal(to expected: Event) -> EventPattern {
        EventPattern(name: describe(expected), matches: { areEqual(expected, $0) }) { actual in
            let isPart = type(of: expected as Any) == type(of: actual as Any)
            return isPart ? " (- expected, + actual):\n" + visibleDifference(from: expected, to: actual) : ""
        }
    }

    /// One of this type.
    static func ofType<T>(_ type: T.Type) -> EventPattern {
        EventPattern(name: "an event of type \(type)", matches: { $0 is T })
    }

    /// One for which this holds.
    static func condition(_ condition: @escaping (Event) -> Bool) -> EventPattern {
        EventPattern(name: "an event that meets the condition", matches: condition)
    }
}
