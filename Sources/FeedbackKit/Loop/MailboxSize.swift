import Synchronization

/// How many bytes the events of a mailbox may hold together.
@usableFromInline
package final class MailboxSize<Event: Sendable>: Sendable {
    /// How many they may be. A mailbox in which no event holds any takes one that holds more.
    @usableFromInline package let limit: Int
    /// How many an event holds; always the same of one event. Called under the loop's lock: it must be a number that the event
    /// has with it. What holds 0 always has room.
    @usableFromInline package let of: @Sendable (Event) -> Int
    /// How many the events of all mailboxes hold that share a bound; nil: there is no such bound.
    package let shared: SharedBytes?

    /// A bound.
    package init(limit: Int, shared: SharedBytes? = nil, of: @escaping @Sendable (Event) -> Int) {
        self.limit = limit
        self.shared = shared
        self.of = of
    }

    /// Counts an event that waits; how many bytes it holds.
    @usableFromInline
    func enter(_ event: Event) -> Int {
        let bytes = of(event)
        if bytes > 0 { shared?.add(bytes) }
        return bytes
    }

    /// Counts an event that no longer waits; how many bytes it holds.
    @usableFromInline
    func leave(_ event: Event) -> Int {
        let bytes = of(event)
        if bytes > 0 { shared?.add(-bytes) }
        return bytes
    }

    /// Whether events that hold bytes wait in some mailbox: where none does, any event has room.
    @usableFromInline var isInUse: Bool { shared.map { $0.count > 0 } ?? false }

    /// Returns a Boolean value that indicates whether a mailbox in which so many bytes wait is full for so many more, whatever
    /// others hold.
    func isFull(for more: Int, beside waiting: Int) -> Bool { more > 0 && waiting > 0 && waiting + more > limit }

    /// Returns a Boolean value that indicates whether an event would have room if a mailbox dropped all its events.
    ///
    /// - Parameter waiting: the bytes that wait in that mailbox.
    func mayFit(_ event: Event, inPlaceOf waiting: Int) -> Bool {
        let more = of(event)
        return more <= 0 || shared?.hasRoom(for: more, inPlaceOf: waiting) ?? true
    }

    /// Whether an event of so many bytes has room beside so many that wait.
    package func hasRoom(for more: Int, beside waiting: Int) -> Bool {
        if isFull(for: more, beside: waiting) { return false }
        return shared?.hasRoom(for: more) ?? true
    }
}

/// A number of bytes that several hold together, and how many that may be.
package final class SharedBytes: Sendable {
    private let used = Atomic<Int>(0)
    private let most: Atomic<Int>

    /// A bound, of which nothing is used.
    package init(limit: Int) {
        most = Atomic(limit)
    }

    /// How many there may be. Lowered below what is held, it keeps out what is more, and changes nothing else.
    package var limit: Int {
        get { most.load(ordering: .relaxed) }
        set { most.store(newValue, ordering: .relaxed) }
    }

    /// How many are held.
    package var count: Int { used.load(ordering: .relaxed) }

    /// Whether there is room for so many more. Nothing at all is no reason to refuse something.
    ///
    /// - Parameter freed: the bytes of those held that would be given back first.
    package func hasRoom(for more: Int, inPlaceOf freed: Int = 0) -> Bool {
        let count = count - freed
        return count <= 0 || count + more <= limit
    }

    /// Counts so many more, or fewer, whether there is room or not.
    package func add(_ bytes: Int) { used.add(bytes, ordering: .relaxed) }

    /// Counts so many more if there is room for them.
    package func take(_ bytes: Int) -> Bool {
        var count = count
        while count <= 0 || count + bytes <= limit {
            let (isExchanged, present) = used.weakCompareExchange(
                expected: count, desired: count + bytes, ordering: .relaxed)
            if isExchanged { return true }
            count = present
        }
        return false
    }
}
