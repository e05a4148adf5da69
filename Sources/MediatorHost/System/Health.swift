import MediatorConfiguration

/// The health of a system.
public enum Health: String, Sendable, Hashable, CaseIterable {
    /// Not started, or not yet in a state that counts as ready.
    case starting
    /// Running and ready, and all its parts work. The configuration does not call its state degraded or failed.
    case healthy
    /// Running, but paused, with a part that does not work, or in a state that the configuration calls degraded.
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

    /// The maximum number of parts that ``text(ofAll:failing:)`` names.
    private static let mostParts = 3

    /// Returns one line with the number of systems, in all and of each health.
    ///
    /// - Parameter failing: The parts that do not work in degraded systems, such as `disk: feedback watch`.
    public static func text(ofAll systems: [Health], failing: [String] = []) -> String {
        let counts = Dictionary(grouping: systems) { $0 }.mapValues(\.count)
        let others = failing.count - mostParts
        let named = failing.prefix(mostParts) + (others > 0 ? ["\(others) more"] : [])
        let parts = allCases.compactMap { health in
            counts[health].map { count in
                let names = health == .degraded && !named.isEmpty ? " (\(named.joined(separator: ", ")))" : ""
                return "\(count) \(health.rawValue)\(names)"
            }
        }
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
    /// The source of the condition that the fault begins.
    package let condition: Conditions.Source
    private var source: Source

    /// The place of the part in the configuration.
    private indirect enum Source: Sendable {
        case none
        /// A part of a system. The place is `nil` until ``written(in:)`` sets it.
        case system(WrittenPart, WrittenSystemPlace?)
        case link(WrittenPlace)
    }

    /// A fault of a part that the configuration does not contain.
    package init(part: String, message: String, condition: Conditions.Source) {
        (self.part, self.message, source) = (part, message, .none)
        self.condition = condition
    }

    /// A fault of the whole system.
    init(_ part: String, message: String) { self.init(part: part, message: message, condition: .whole) }

    /// A fault of a part of the system that notes the fault.
    ///
    /// - Parameter condition: The source of the condition that the fault begins, if it is not the part itself.
    init(_ part: String, in written: WrittenPart, message: String, condition: Conditions.Source? = nil) {
        (self.part, self.message, source) = (part, message, .system(written, nil))
        self.condition = condition ?? written.condition
    }

    /// A fault of a link.
    ///
    /// - Parameter figures: The identity of the figures of the link.
    init(_ part: String, of link: WrittenPlace, message: String, figures: ObjectIdentifier) {
        (self.part, self.message, source) = (part, message, .link(link))
        condition = .link(figures)
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
        var fault = Fault(part: part, message: concealment(message), condition: condition)
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
