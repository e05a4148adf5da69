/// How many bytes the events of a mailbox may hold together.
@usableFromInline
package final class MailboxSize<Event: Sendable>: Sendable {
    /// How many they may be. A mailbox in which no event holds any takes one that holds more.
    @usableFromInline package let limit: Int
    /// How many an event holds; always the same of one event. Called under the loop's lock: it must be a number that the event
    /// has with it. What holds 0 always has room.
    @usableFromInline package let of: @Sendable (Event) -> Int

    /// A bound.
    package init(limit: Int, of: @escaping @Sendable (Event) -> Int) {
        self.limit = limit
        self.of = of
    }
}
