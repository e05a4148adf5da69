import MediatorConfiguration

/// The health of a system.
public enum Health: String, Sendable, Hashable, CaseIterable {
    /// Not started, or not yet in a state that counts as ready.
    case starting
    /// Running and ready, without a recent fault. The configuration does not call its state degraded or failed.
    case healthy
    /// Running, but paused, with a recent fault, or in a state that the configuration calls degraded.
    case degraded
    /// Restarting, ended because of a fault, or running with one of these defects:
    ///
    /// - The configuration calls its state failed.
    /// - It did not handle an event that it must handle.
    /// - Its loop has made no progress within the deadline.
    case failed
    /// Stopped or stopping for good, with the host or because of a reload.
    case stopped
}

extension Health {
    /// The health of a whole, which is that of its worst part: failed, degraded, starting, stopped, or else healthy.
    public init(ofAll parts: [Health]) {
        self = [.failed, .degraded, .starting, .stopped].first { parts.contains($0) } ?? .healthy
    }

    /// Returns one line with the number of systems, in all and of each health.
    public static func text(ofAll systems: [Health]) -> String {
        let counts = Dictionary(grouping: systems) { $0 }.mapValues(\.count)
        let parts = allCases.compactMap { health in counts[health].map { "\($0) \(health.rawValue)" } }
        let noun = systems.count == 1 ? "system" : "systems"
        return "\(systems.count) \(noun)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }
}

/// A failure inside a running system.
public struct Fault: Sendable, Hashable {
    /// The part that failed, with its place, if it has one, in the present configuration.
    public var place: String {
        switch source {
        case .none, .system(_, nil): part
        case .system(let written, let place?): "\(part), \(place.source(of: written))"
        case .link(let place): "\(part), \(place.now)"
        }
    }
    /// The text of the error.
    public let message: String
    /// The part that failed, in words.
    let part: String
    private var source: Source

    /// The place of the part in the configuration.
    private indirect enum Source: Sendable {
        case none
        /// A part of a system. The place is `nil` until ``written(in:)`` sets it.
        case system(WrittenPart, WrittenSystemPlace?)
        case link(WrittenPlace)
    }

    /// A fault of a part that the configuration does not contain.
    init(_ part: String, message: String) {
        (self.part, self.message, source) = (part, message, .none)
    }

    /// A fault of a part of the system that notes the fault.
    init(_ part: String, in written: WrittenPart, message: String) {
        (self.part, self.message, source) = (part, message, .system(written, nil))
    }

    /// A fault of a link.
    init(_ part: String, of link: WrittenPlace, message: String) {
        (self.part, self.message, source) = (part, message, .link(link))
    }

    /// Returns the fault with the place of its system, unless it has a place already.
    func written(in place: WrittenSystemPlace) -> Fault {
        guard case .system(let written, nil) = source else { return self }
        var fault = self
        fault.source = .system(written, place)
        return fault
    }

    /// Returns the fault with the confidential values of its message masked.
    func concealed(by concealment: Concealment) -> Fault {
        var fault = Fault(part, message: concealment(message))
        fault.source = source
        return fault
    }

    private var written: WrittenPart? {
        if case .system(let written, _) = source { written } else { nil }
    }

    /// Returns a Boolean value that indicates whether two faults have the same part and message.
    public static func == (left: Fault, right: Fault) -> Bool {
        (left.part, left.written, left.message) == (right.part, right.written, right.message)
    }

    /// Hashes the values that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(part)
        hasher.combine(written)
        hasher.combine(message)
    }
}
