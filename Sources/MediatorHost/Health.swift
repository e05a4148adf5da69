import MediatorConfiguration

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
    /// What was being computed, and where that is written: after a reload, where it is written now.
    public var place: String {
        guard let source else { return part }
        return "\(part), \(places?.now(source) ?? source)"
    }
    /// What went wrong.
    public let message: String
    /// What was being computed.
    let part: String
    /// Where that was written as it began to run.
    private let source: SourceLocation?
    /// Knows where it is written now.
    private var places: WrittenPlaces?

    init(_ part: String, at source: SourceLocation? = nil, _ places: WrittenPlaces? = nil, message: String) {
        self.part = part
        self.source = source
        self.places = places
        self.message = message
    }

    /// The same, of something whose places are known there.
    func written(in places: WrittenPlaces) -> Fault {
        var fault = self
        fault.places = fault.places ?? places
        return fault
    }

    /// The same without what must not be shown.
    func concealed(by concealment: Concealment) -> Fault {
        Fault(part, at: source, places, message: concealment(message))
    }

    /// Whether the same went wrong in the same part.
    public static func == (left: Fault, right: Fault) -> Bool {
        (left.part, left.source, left.message) == (right.part, right.source, right.message)
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(part)
        hasher.combine(source)
        hasher.combine(message)
    }
}
