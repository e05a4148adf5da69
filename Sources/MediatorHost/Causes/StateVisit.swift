import CommonExpression

/// A stay of a system in a state, from the entry on. Updates in place and reloads make other records of the state, which refer
/// to it.
package final class StateVisit: Sendable {
    /// The number of the state at its entry.
    let number: UInt64
    /// The time of the entry.
    let since: Timestamp
    /// The name of the state before, or `nil` if the system began in this one.
    let previous: String?
    /// The name of the event that led to the state, or `nil` if the system began in it.
    let event: String?
    /// The Swift value that the present record was made from, if the system is written in Swift.
    let original: (any AnyObject & Sendable)?

    init(
        number: UInt64, since: Timestamp, previous: String?, event: String?, original: (any AnyObject & Sendable)?
    ) {
        self.number = number
        self.since = since
        self.previous = previous
        self.event = event
        self.original = original
    }

    /// Returns the same visit for a record with another Swift value.
    func with(original new: (any AnyObject & Sendable)?) -> StateVisit {
        original == nil && new == nil
            ? self : StateVisit(number: number, since: since, previous: previous, event: event, original: new)
    }

    /// The entry, for people: `entered from Idle on Start`.
    var text: String {
        guard let event else { return "began in" }
        return "entered" + (previous.map { " from \($0)" } ?? "") + " on \(event)"
    }
}
