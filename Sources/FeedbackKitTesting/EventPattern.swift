/// The event that a test expects to receive.
struct EventPattern<Event: Sendable> {
    /// The name of the pattern in messages.
    let name: String
    let matches: (Event) -> Bool
    /// Returns the difference between the expected and the actual event, for a message.
    var difference: (Event) -> String = { _ in "" }

    /// A pattern for an equal event.
    static func equal(to expected: Event) -> EventPattern {
        EventPattern(name: describe(expected), matches: { areEqual(expected, $0) }) { actual in
            let isPart = type(of: expected as Any) == type(of: actual as Any)
            return isPart ? " (- expected, + actual):\n" + visibleDifference(from: expected, to: actual) : ""
        }
    }

    /// A pattern for events of this type.
    static func ofType<T>(_ type: T.Type) -> EventPattern {
        EventPattern(name: "an event of type \(type)", matches: { $0 is T })
    }

    /// A pattern for events that meet the condition.
    static func condition(_ condition: @escaping (Event) -> Bool) -> EventPattern {
        EventPattern(name: "an event that meets the condition", matches: condition)
    }
}
