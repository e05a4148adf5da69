/// How a system is.
public enum Health: String, Sendable, Hashable, CaseIterable {
    /// Not yet in a state that counts as ready.
    case starting
    /// Running, and nothing has gone wrong since its last transition.
    case healthy
    /// Running, but the last thing it was asked to compute failed.
    case degraded
    /// Not running, though it should be.
    case failed
    /// Stopped, as asked.
    case stopped
}

/// Something that went wrong inside a system while it ran.
public struct Fault: Sendable, Hashable {
    /// What was being computed.
    public let place: String
    /// What went wrong.
    public let message: String
}
