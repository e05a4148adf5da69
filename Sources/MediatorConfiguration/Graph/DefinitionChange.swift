/// A part of the definition of a system, a bus or a link, such as a feedback.
public struct DefinitionPart: Sendable, Hashable {
    /// Its name, unique within the definition: `state Full`, `feedback measure`, `onState`.
    public let name: String
    /// The place where it is written, if it has one of its own.
    public let source: SourceLocation?
    /// A number that is the same for parts that mean the same.
    let fingerprint: UInt64
}

/// A part in which two definitions differ.
public struct DefinitionChange: Sendable, Hashable {
    /// The way in which they differ.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Only the new one has it.
        case added
        /// Only the old one has it.
        case removed
        /// It means something else.
        case changed
    }

    /// The part's name: `state Full`, `feedback measure`, `onState`.
    public let part: String
    /// The way in which it differs.
    public let kind: Kind
    /// The place where the old one is written, if it has one of its own.
    public let old: SourceLocation?
    /// The place where the new one is written, if it has one of its own.
    public let new: SourceLocation?

    /// A change.
    public init(part: String, kind: Kind, old: SourceLocation? = nil, new: SourceLocation? = nil) {
        self.part = part
        self.kind = kind
        self.old = old
        self.new = new
    }

    /// The parts in which two definitions differ that do not mean the same. Linear.
    static func all(from old: LazyFingerprint, to new: LazyFingerprint) -> [DefinitionChange] {
        let (oldParts, newParts) = (old.parts, new.parts)
        let before = Dictionary(oldParts.map { ($0.name, $0) }) { first, _ in first }
        let after = Set(newParts.map(\.name))
        var changes = newParts.compactMap { part -> DefinitionChange? in
            guard let old = before[part.name] else {
                return DefinitionChange(part: part.name, kind: .added, new: part.source)
            }
            guard old.fingerprint != part.fingerprint else { return nil }
            return DefinitionChange(part: part.name, kind: .changed, old: old.source, new: part.source)
        }
        changes += oldParts.filter { !after.contains($0.name) }.map {
            DefinitionChange(part: $0.name, kind: .removed, old: $0.source)
        }
        guard changes.isEmpty else { return changes }
        // All parts are the same, so the difference is their order or a value from elsewhere.
        let isReordered = oldParts.map(\.name) != newParts.map(\.name)
        return [
            DefinitionChange(
                part: isReordered ? "order of feedbacks" : "value from elsewhere (!env, !file or !credential)",
                kind: .changed)
        ]
    }
}

extension SystemDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: SystemDefinition) -> [DefinitionChange] {
        DefinitionChange.all(from: old.lazyFingerprint, to: lazyFingerprint)
    }
}

extension BusDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: BusDefinition) -> [DefinitionChange] {
        DefinitionChange.all(from: old.lazyFingerprint, to: lazyFingerprint)
    }
}

extension LinkDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: LinkDefinition) -> [DefinitionChange] {
        DefinitionChange.all(from: old.lazyFingerprint, to: lazyFingerprint)
    }
}
