import CommonExpression
import FoundationEssentials

/// Parses JSON as in RFC 8259. Foundation's decoder accepts a trailing comma, which is invalid.
enum StrictJSON {
    /// Parses a value.
    ///
    /// - Throws: `DecodingError`, if the text is not JSON or has no representation as a value.
    static func value(of bytes: some Sequence<UInt8>) throws -> Value {
        let bytes = Array(bytes)
        guard !hasTrailingComma(bytes) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "a comma follows the last element"))
        }
        return try JSONDecoder().decode(Value.self, from: Data(bytes))
    }

    /// Returns whether a comma precedes the end of an array or object. Linear.
    private static func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
        var isInText = false
        var isEscaped = false
        var isBehindComma = false
        for byte in bytes {
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): continue
            case UInt8(ascii: "]"), UInt8(ascii: "}"): if isBehindComma { return true }
            default: isInText = byte == UInt8(ascii: "\"")
            }
            isBehindComma = byte == UInt8(ascii: ",")
        }
        return false
    }
}
