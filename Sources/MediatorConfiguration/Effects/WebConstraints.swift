import CommonExpression

/// The expected statuses of HTTP: `200-299,404`.
public struct StatusRanges: Sendable, Hashable {
    /// The ranges.
    public let ranges: [ClosedRange<Int>]

    /// Reads ranges of statuses from 100 to 599, separated by commas; `nil` if the text is not written so.
    public init?(_ text: String) {
        var ranges: [ClosedRange<Int>] = []
        // A text longer than this has a range twice.
        guard text.utf8.count <= 1_024 else { return nil }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Self.status($0) }
            guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else {
                return nil
            }
            ranges.append(first...last)
        }
        self.ranges = ranges
    }

    /// Returns whether a status is among them.
    public func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }

    private static func status(_ text: Substring) -> Int? {
        let digits = text.drop { $0 == " " }.prefix { $0 != " " }
        guard digits.utf8.count == 3, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text.drop(while: { $0 == " " }).dropFirst(3).allSatisfy({ $0 == " " })
        else { return nil }
        return Int(digits).flatMap { (100...599).contains($0) ? $0 : nil }
    }
}

/// The rules for the fields of a header (RFC 9110).
enum HeaderFields {
    /// Those that belong to the connection, which is not the configuration's (RFC 9110, section 7.6.1), and those that
    /// follow from the body.
    private static let reserved: Set = [
        "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// The reason why a map breaks the rules, without the values; `nil` if it does not.
    static func problem(with entries: [Value: Value]) -> String? {
        for (name, value) in entries.map({ ($0.key.text ?? "", $0.value.text ?? "") }).sorted(by: { $0.0 < $1.0 }) {
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                return "must have names of letters, digits and '-'"
            }
            guard !reserved.contains(name.lowercased()) else {
                return "cannot say '\(name)', which belongs to the connection"
            }
            guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7f) || $0 == UInt8(ascii: "\t") }) else {
                return "cannot have a line break or another control character in '\(name)'"
            }
        }
        return nil
    }

    /// Returns whether a byte may be part of a token (RFC 9110, section 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
