public import CommonExpression
import MediatorConfiguration

/// The state of a system: which, its data, and how it came about.
public struct SystemState: Sendable {
    /// Its index in the system's definition.
    public let index: Int
    /// Its data, a structure of the state's type.
    public let data: Value
    /// When it was entered.
    public let since: Timestamp
    /// The state before it; `nil` for the initial one.
    public let previous: Int?
    /// The event that led to it; `nil` for the initial one.
    public let event: SystemEvent?
    /// Counts the states since the start, from 1.
    public let serial: UInt64
    /// The Swift value of which it was made, where the system is written in Swift.
    var original: (any AnyObject & Sendable)?

    init(
        index: Int, data: Value, since: Timestamp, previous: Int?, event: SystemEvent?, serial: UInt64,
        original: (any AnyObject & Sendable)? = nil
    ) {
        self.index = index
        self.data = data
        self.since = since
        self.previous = previous
        self.event = event
        self.serial = serial
        self.original = original
    }
}

/// An event of a system.
public struct SystemEvent: Sendable {
    /// Its index in the system's definition; -1 for one that the definition does not have, which nothing handles; -2 for
    /// the reset by its supervisor.
    public let index: Int
    /// Its data, a structure of the event's type.
    public let data: Value
    /// The Swift value of which it was made, where a system that is written in Swift emitted it.
    var original: (any AnyObject & Sendable)?

    init(index: Int, data: Value, original: (any AnyObject & Sendable)? = nil) {
        self.index = index
        self.data = data
        self.original = original
    }

    /// Sends a system to its initial state.
    static let reset = SystemEvent(index: -2, data: .null)

    /// Whether it sends a system to its initial state.
    var isReset: Bool { index == Self.reset.index }
}

extension SystemDefinition {
    /// What an event is called.
    package func eventName(_ event: SystemEvent) -> String {
        events.indices.contains(event.index) ? events[event.index].name : event.isReset ? "(reset)" : "unknown"
    }
}
