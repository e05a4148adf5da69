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

extension Health {
    /// How a whole is: as its worst part.
    public init(ofAll parts: [Health]) {
        self = [.failed, .degraded, .starting, .stopped].first { parts.contains($0) } ?? .healthy
    }

    /// One line: how many systems are how.
    public static func text(ofAll systems: [Health]) -> String {
        let counts = Dictionary(grouping: systems) { $0 }.mapValues(\.count)
        let parts = allCases.compactMap { health in counts[health].map { "\($0) \(health.rawValue)" } }
        let noun = systems.count == 1 ? "system" : "systems"
        return "\(systems.count) \(noun)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }
}

/// Something that went wrong inside a system while it ran.
public struct Fault: Sendable, Hashable {
    /// What was being computed.
    public let place: String
    /// What went wrong.
    public let message: String
}
