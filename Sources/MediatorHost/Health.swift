/// How a system is.
public enum Health: String, Sendable, Hashable, CaseIterable {
    /// Not yet in a state that counts as ready.
    case starting
    /// Running, in a state that is called nothing else, and nothing has gone wrong of late.
    case healthy
    /// Running, in a state that is called so, or something it was asked to compute has failed of late.
    case degraded
    /// Running, in a state that is called so; or it got an event that it must handle, and did not.
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
