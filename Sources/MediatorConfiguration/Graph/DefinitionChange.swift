/// A part of the definition of a system, a bus or a link, such as a feedback.
public struct DefinitionPart: Sendable, Hashable {
    /// Its name, unique within the definition: `state Full`, `feedback measure`, `onState`.
    public let name: String
    /// The place where it is written, if it has one of its own.
    public let source: SourceLocation?
    /// A number that is the same for parts that mean the same.
    let fingerprint: UInt64
    /// Its keys and values in the order of the fingerprint; nil if they must not be shown.
    let texts: [String]?

    /// A Boolean value that indicates whether it is a feedback of a system.
    var isFeedback: Bool { name.hasPrefix("feedback ") }
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
    /// The value that differs in a changed part, in the old definition; nil if it is not the only one, is long or must
    /// not be shown.
    public let oldValue: String?
    /// The same in the new definition.
    public let newValue: String?

    /// The longest value that is shown, in bytes.
    private static let longestValue = 80

    /// A change.
    public init(
        part: String, kind: Kind, old: SourceLocation? = nil, new: SourceLocation? = nil, oldValue: String? = nil,
        newValue: String? = nil
    ) {
        self.part = part
        self.kind = kind
        self.old = old
        self.new = new
        self.oldValue = oldValue
        self.newValue = newValue
    }

    /// The parts in which two definitions differ that do not mean the same. Linear.
    ///
    /// - Parameters:
    ///   - persistence: The persistence of both definitions. It may differ although it is written in neither.
    ///   - sources: The places of both definitions.
    static func all(
        from old: LazyFingerprint, to new: LazyFingerprint, persistence: (old: String, new: String),
        at sources: (old: SourceLocation, new: SourceLocation)
    ) -> [DefinitionChange] {
        let changes = old.text == new.text ? [] : all(from: old, to: new)
        guard persistence.old != persistence.new else { return changes }
        // The part of a fingerprint exists only in a definition that persists, and has neither a place nor a value.
        return changes.filter { $0.part != persistencePart } + [
            DefinitionChange(
                part: persistencePart, kind: .changed, old: sources.old, new: sources.new, oldValue: persistence.old,
                newValue: persistence.new)
        ]
    }

    /// The key of a definition for its persistence.
    private static let persistencePart = "persist"

    /// The parts in which two definitions differ as they are written. Linear.
    static func all(from old: LazyFingerprint, to new: LazyFingerprint) -> [DefinitionChange] {
        let (oldParts, newParts) = (old.parts, new.parts)
        let before = Dictionary(oldParts.map { ($0.name, $0) }) { first, _ in first }
        let after = Set(newParts.map(\.name))
        var changes = newParts.compactMap { part -> DefinitionChange? in
            guard let old = before[part.name] else {
                return DefinitionChange(part: part.name, kind: .added, new: part.source)
            }
            guard old.fingerprint != part.fingerprint else { return nil }
            let values = onlyDifference(old.texts, part.texts)
            return DefinitionChange(
                part: part.name, kind: .changed, old: old.source, new: part.source, oldValue: values?.old,
                newValue: values?.new)
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

    /// Returns the texts that differ, if they are the only ones and short.
    private static func onlyDifference(_ old: [String]?, _ new: [String]?) -> (old: String, new: String)? {
        guard let old, let new, old.count == new.count else { return nil }
        let pairs = zip(old, new).filter { $0 != $1 }
        guard pairs.count == 1, max(pairs[0].0.utf8.count, pairs[0].1.utf8.count) <= longestValue else { return nil }
        return pairs[0]
    }
}

extension SystemDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: SystemDefinition) -> [DefinitionChange] {
        DefinitionChange.all(
            from: old.lazyFingerprint, to: lazyFingerprint,
            persistence: (old.persistence.rawValue, persistence.rawValue), at: (old.source, source))
    }

    /// The names of the feedbacks that mean the same in another definition. The values that they get from elsewhere count,
    /// the order of feedbacks does not. Linear.
    package func feedbacksUnchanged(since old: SystemDefinition) -> Set<String> {
        let before = Dictionary(
            zip(old.feedbacks, old.lazyFingerprint.feedbacks).map { ($0.name, (feedback: $0, print: $1)) }
        ) { first, _ in first }
        var names: Set<String> = []
        for (feedback, print) in zip(feedbacks, lazyFingerprint.feedbacks) {
            guard let known = before[feedback.name], known.print == print else { continue }
            // The same text may name a compound state now, and a single one before.
            guard known.feedback.selector.compounds.isEmpty == feedback.selector.compounds.isEmpty else { continue }
            names.insert(feedback.name)
        }
        return names
    }
}

extension BusDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: BusDefinition) -> [DefinitionChange] {
        DefinitionChange.all(
            from: old.lazyFingerprint, to: lazyFingerprint,
            persistence: ("\(old.isPersisted)", "\(isPersisted)"), at: (old.source, source))
    }
}

extension LinkDefinition {
    /// The parts in which it differs from another of its name.
    public func changes(from old: LinkDefinition) -> [DefinitionChange] {
        DefinitionChange.all(from: old.lazyFingerprint, to: lazyFingerprint)
    }
}
