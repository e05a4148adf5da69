/// The connections of the metrics endpoint and the answers that they have not read: a value without channel and clock.
///
/// ```
/// enter ──▶ waiting ──answer──▶ answering ──send──▶ sending
///              ▲                                       │
///              └───────────────── wait ────────────────┘
/// ```
///
/// If all places are taken, a new connection takes the place of the connection that has waited longest for the end of its
/// request. If no connection waits, it takes the place of the one that has read its answer longest. So silent and slow
/// clients keep nobody out. A connection whose answer is being made keeps its place.
package struct MetricsConnections: Sendable {
    /// A place for a new connection.
    package struct Place: Sendable, Hashable {
        /// The number of the connection.
        package let number: Int
        /// The number of the connection that had the place and must be closed.
        package let closed: Int?
    }

    private enum Phase: Sendable {
        /// The client has not sent a whole request.
        case waiting
        /// The answer is being made.
        case answering
        /// The answer is written, and a part of it has not left the process.
        case sending
    }

    private struct Connection: Sendable {
        var phase = Phase.waiting
        /// The position of its latest change in the order of all changes.
        var changed: Int
        /// The number of bytes of its answer.
        var unread = 0
    }

    private let limit: Int
    private let unreadLimit: Int
    private var connections: [Int: Connection] = [:]
    private var lastNumber = 0
    private var lastChange = 0

    /// Creates an empty list of connections.
    ///
    /// - Parameters:
    ///   - limit: The limit on connections.
    ///   - unreadLimit: The limit on the bytes of all answers that are being read. One answer may be longer.
    package init(limit: Int, unreadLimit: Int) {
        self.limit = limit
        self.unreadLimit = unreadLimit
    }

    /// Adds a connection, which waits for a request. Returns `nil` if there is no place for it.
    package mutating func enter() -> Place? {
        var closed: Int?
        if connections.count >= limit {
            guard let longest = longest(in: .waiting) ?? longest(in: .sending) else { return nil }
            connections[longest] = nil
            closed = longest
        }
        lastNumber += 1
        connections[lastNumber] = Connection(changed: nextChange())
        return Place(number: lastNumber, closed: closed)
    }

    /// Notes that a request has arrived.
    package mutating func answer(_ number: Int) { change(number, to: .answering) }

    /// Notes that an answer will be written. Returns `false` if the connection must be closed instead.
    package mutating func send(_ number: Int, bytes: Int) -> Bool {
        let unread = connections.values.reduce(0) { $0 + $1.unread }
        guard connections[number] != nil, unread == 0 || unread + bytes <= unreadLimit else { return false }
        change(number, to: .sending)
        connections[number]?.unread = bytes
        return true
    }

    /// Notes that an answer has left the process, so that the next request may come.
    package mutating func wait(_ number: Int) {
        change(number, to: .waiting)
        connections[number]?.unread = 0
    }

    /// Removes a connection that was closed.
    package mutating func leave(_ number: Int) { connections[number] = nil }

    private mutating func change(_ number: Int, to phase: Phase) {
        guard var connection = connections[number] else { return }
        connection.phase = phase
        connection.changed = nextChange()
        connections[number] = connection
    }

    private mutating func nextChange() -> Int {
        lastChange += 1
        return lastChange
    }

    private func longest(in phase: Phase) -> Int? {
        connections.filter { $0.value.phase == phase }.min { $0.value.changed < $1.value.changed }?.key
    }
}
