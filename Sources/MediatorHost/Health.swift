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
        switch source {
        case .none, .system(_, nil): part
        case .system(let written, let place?): "\(part), \(place.source(of: written))"
        case .link(let place): "\(part), \(place.now)"
        }
    }
    /// What went wrong.
    public let message: String
    /// What was being computed.
    let part: String
    private var source: Source

    /// Where that is written.
    private enum Source: Sendable {
        case none
        /// In a part of the system; nil: nobody has said yet where that is.
        case system(WrittenPart, WrittenSystemPlace?)
        case link(WrittenPlace)
    }

    /// Of what is written nowhere.
    init(_ part: String, message: String) {
        (self.part, self.message, source) = (part, message, .none)
    }

    /// Of a part of the system that notes it.
    init(_ part: String, in written: WrittenPart, message: String) {
        (self.part, self.message, source) = (part, message, .system(written, nil))
    }

    /// Of a link.
    init(_ part: String, of link: WrittenPlace, message: String) {
        (self.part, self.message, source) = (part, message, .link(link))
    }

    /// The same, where the system is written there.
    func written(in place: WrittenSystemPlace) -> Fault {
        guard case .system(let written, nil) = source else { return self }
        var fault = self
        fault.source = .system(written, place)
        return fault
    }

    /// The same without what must not be shown.
    func concealed(by concealment: Concealment) -> Fault {
        var fault = Fault(part, message: concealment(message))
        fault.source = source
        return fault
    }

    private var written: WrittenPart? {
        if case .system(let written, _) = source { written } else { nil }
    }

    /// Whether the same went wrong in the same part.
    public static func == (left: Fault, right: Fault) -> Bool {
        (left.part, left.written, left.message) == (right.part, right.written, right.message)
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(part)
        hasher.combine(written)
        hasher.combine(message)
    }
}
