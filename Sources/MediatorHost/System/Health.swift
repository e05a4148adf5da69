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
        switch contents.source {
        case .none, .system(_, nil): part
        case .system(let written, let place?): "\(part), \(place.source(of: written))"
        case .link(let place): "\(part), \(place.now)"
        }
    }
    /// The text of the error.
    public var message: String { contents.message }
    /// The part that failed, in words.
    var part: String { contents.part }
    /// The source of the condition that the fault begins.
    package var condition: Conditions.Source { contents.condition }
    /// One reference, because systems and their steps have room for a fault, and most have none.
    private let contents: Contents

    private final class Contents: Sendable {
        let part: String
        let message: String
        let condition: Conditions.Source
        let source: Source

        init(_ part: String, _ message: String, _ condition: Conditions.Source, _ source: Source) {
            (self.part, self.message, self.condition, self.source) = (part, message, condition, source)
        }
    }

    /// The place of the part in the configuration.
    private indirect enum Source: Sendable {
        case none
        /// A part of a system. The place is `nil` until ``written(in:)`` sets it.
        case system(WrittenPart, WrittenSystemPlace?)
        case link(WrittenPlace)
    }

    /// A fault of a part that the configuration does not contain.
    package init(part: String, message: String, condition: Conditions.Source) {
        contents = Contents(part, message, condition, .none)
    }

    /// A fault of the whole system.
    init(_ part: String, message: String) { self.init(part: part, message: message, condition: .whole) }

    /// A fault of a part of the system that notes the fault.
    ///
    /// - Parameter condition: The source of the condition that the fault begins, if it is not the part itself.
    init(_ part: String, in written: WrittenPart, message: String, condition: Conditions.Source? = nil) {
        contents = Contents(part, message, condition ?? written.condition, .system(written, nil))
    }

    /// A fault of a link.
    ///
    /// - Parameter figures: The identity of the figures of the link.
    init(_ part: String, of link: WrittenPlace, message: String, figures: ObjectIdentifier) {
        contents = Contents(part, message, .link(figures), .link(link))
    }

    /// Returns the fault with the place of its system, unless it has a place already.
    func written(in place: WrittenSystemPlace) -> Fault {
        guard case .system(let written, nil) = contents.source else { return self }
        return Fault(Contents(part, message, condition, .system(written, place)))
    }

    /// Returns the fault with the confidential values of its message masked.
    func concealed(by concealment: Concealment) -> Fault {
        Fault(Contents(part, concealment(message), condition, contents.source))
    }

    private init(_ contents: Contents) { self.contents = contents }

    private var written: WrittenPart? {
        if case .system(let written, _) = contents.source { written } else { nil }
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
