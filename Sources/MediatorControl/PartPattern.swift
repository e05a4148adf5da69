/// Names with a kind, in which `*` stands for any letters and `?` for one: `ups*`, `bus:alarms`, `link:*`.
public struct PartPattern: Sendable, Hashable {
    /// The kind of part; nil for any kind.
    public let kind: PartKind?
    /// The name.
    public let name: String
    private let scalars: [Unicode.Scalar]

    /// Reads a pattern.
    public init(_ text: String) {
        if let colon = text.firstIndex(of: ":"), let kind = PartKind(rawValue: String(text[..<colon])) {
            self.kind = kind
            name = String(text[text.index(after: colon)...])
        } else {
            kind = nil
            name = text
        }
        scalars = Array(name.unicodeScalars)
    }

    /// Whether it may stand for more than one name.
    public var isWild: Bool { name.contains("*") || name.contains("?") }

    /// Whether it stands for a part.
    public func matches(_ kind: PartKind, _ name: String) -> Bool {
        guard self.kind == nil || self.kind == kind else { return false }
        return Self.matches(scalars, name.unicodeScalars)
    }

    /// In time of the product of both lengths at most: only the last star can have been wrong.
    private static func matches(_ pattern: [Unicode.Scalar], _ text: String.UnicodeScalarView) -> Bool {
        var (at, in_) = (0, text.startIndex)
        var star: (pattern: Int, text: String.Index)?
        while in_ < text.endIndex {
            if at < pattern.count, pattern[at] == "*" {
                star = (at, in_)
                at += 1
            } else if at < pattern.count, pattern[at] == "?" || pattern[at] == text[in_] {
                at += 1
                in_ = text.index(after: in_)
            } else if let last = star {
                at = last.pattern + 1
                in_ = text.index(after: last.text)
                star = (last.pattern, in_)
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == "*" }
    }
}
