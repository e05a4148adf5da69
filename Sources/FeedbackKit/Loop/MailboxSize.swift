import Synchronization

/// The limit on the bytes of the waiting events of a mailbox.
@usableFromInline
package final class MailboxSize<Event: Sendable>: Sendable {
    /// The maximum number of bytes. A mailbox without waiting bytes accepts an event even if it has more.
    @usableFromInline package let limit: Int
    /// A function that returns the number of bytes of an event, always the same number for one event. It is called
    /// under the loop's lock, so it must only read a number that the event stores. An event with 0 bytes always has
    /// room.
    @usableFromInline package let of: @Sendable (Event) -> Int
    /// The bytes of all mailboxes that share a limit, or `nil` without such a limit.
    package let shared: SharedBytes?

    /// Creates a limit.
    package init(limit: Int, shared: SharedBytes? = nil, of: @escaping @Sendable (Event) -> Int) {
        self.limit = limit
        self.shared = shared
        self.of = of
    }

    /// Counts an event that begins to wait, and returns its number of bytes.
    @usableFromInline
    func enter(_ event: Event) -> Int {
        let bytes = of(event)
        if bytes > 0 { shared?.add(bytes) }
        return bytes
    }

    /// Counts an event that no longer waits, and returns its number of bytes.
    @usableFromInline
    func leave(_ event: Event) -> Int {
        let bytes = of(event)
        if bytes > 0 { shared?.add(-bytes) }
        return bytes
    }

    /// A Boolean value that indicates whether the mailboxes with the shared limit hold any bytes. If they hold none,
    /// the shared limit has room for any event.
    @usableFromInline var isInUse: Bool { shared.map { $0.count > 0 } ?? false }

    /// Returns a Boolean value that indicates whether a mailbox has no room for more bytes, without regard to other
    /// mailboxes.
    ///
    /// - Parameter more: The number of bytes to add.
    /// - Parameter waiting: The number of bytes that wait in the mailbox.
    func isFull(for more: Int, beside waiting: Int) -> Bool { more > 0 && waiting > 0 && waiting + more > limit }

    /// Returns a Boolean value that indicates whether an event would have room if a mailbox dropped all its events.
    ///
    /// - Parameter waiting: The number of bytes that wait in that mailbox.
    func mayFit(_ event: Event, inPlaceOf waiting: Int) -> Bool {
        let more = of(event)
        return more <= 0 || shared?.hasRoom(for: more, inPlaceOf: waiting) ?? true
    }

    /// Returns a Boolean value that indicates whether an event has room in a mailbox, also under the shared limit.
    ///
    /// - Parameter more: The number of bytes of the event.
    /// - Parameter waiting: The number of bytes that wait in the mailbox.
    @usableFromInline
    package func hasRoom(for more: Int, beside waiting: Int) -> Bool {
        if isFull(for: more, beside: waiting) { return false }
        return shared?.hasRoom(for: more) ?? true
    }
}

/// A shared number of bytes with a limit.
package final class SharedBytes: Sendable {
    private let used = Atomic<Int>(0)
    private let most: Atomic<Int>

    /// Creates a limit without used bytes.
    package init(limit: Int) {
        most = Atomic(limit)
    }

    /// The maximum number of bytes. A limit below the present number only refuses more bytes, and changes nothing else.
    package var limit: Int {
        get { most.load(ordering: .relaxed) }
        set { most.store(newValue, ordering: .relaxed) }
    }

    /// The present number of bytes.
    package var count: Int { used.load(ordering: .relaxed) }

    /// Returns a Boolean value that indicates whether there is room for more bytes. If no bytes are held, there is
    /// always room.
    ///
    /// - Parameter more: The number of bytes to add.
    /// - Parameter freed: The number of held bytes that would be given back first.
    package func hasRoom(for more: Int, inPlaceOf freed: Int = 0) -> Bool {
        let count = count - freed
        return count <= 0 || count + more <= limit
    }

    /// Adds a number of bytes, which may be negative, without regard to the limit.
    package func add(_ bytes: Int) { used.add(bytes, ordering: .relaxed) }

    /// Adds a number of bytes and returns `true` if there is room for them. Otherwise returns `false`.
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
