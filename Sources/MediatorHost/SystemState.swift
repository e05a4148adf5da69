public import CommonExpression

/// The state of a configured system: which, its data, and how it came about.
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
}

/// An event of a configured system.
public struct SystemEvent: Sendable {
    /// Its index in the system's definition.
    public let index: Int
    /// Its data, a structure of the event's type.
    public let data: Value
}
