/// The functions of the encoders extension: Base64 (RFC 4648, section 4).
enum EncodersExtension {
    /// All functions of the extension.
    static let all: [Function] = [
        Function("base64.encode", [.function(.bytes, result: .string)], unary: encode),
        Function("base64.decode", [.function(.string, result: .bytes)], unary: decode),
    ]

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let padding = UInt8(ascii: "=")

    /// The value of each character; 255 for those outside the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    private static let encode: Function.Unary = { value, range, frame throws(EvaluationError) in
        guard case .bytes(let bytes) = value else {
            throw EvaluationError(
                code: .noSuchOverload, message: "base64.encode() does not take \(value.typeName)", range: range)
        }
        try frame.create(octets: (bytes.count + 2) / 3 * 4, at: range)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= 8 * UInt32(3 - group.count)
            for index in 0..<4 {
                text.append(
                    index <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * index)) & 63] : padding)
            }
        }
        return .string(String(decoding: text, as: UTF8.self))
    }

    /// Decodes text with or without padding. Bits after the last whole octet must be zero.
    private static let decode: Function.Unary = { value, range, frame throws(EvaluationError) in
        guard case .string(let text) = value else {
            throw EvaluationError(
                code: .noSuchOverload, message: "base64.decode() does not take \(value.typeName)", range: range)
        }
        try frame.create(octets: text.utf8.count, at: range)
        let characters = Array(text.utf8)
        let digits = characters.prefix { $0 != padding }
        let padded = characters.count - digits.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for character in digits {
            guard values[Int(character)] != 255 else { throw malformed(value, range) }
            bits = bits << 6 | UInt32(values[Int(character)])
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= (1 << count) - 1
            }
        }
        let isWhole = padded == 0 || (padded <= 2 && characters.count % 4 == 0)
        guard isWhole, count < 6, bits == 0, characters[digits.count...].allSatisfy({ $0 == padding }) else {
            throw malformed(value, range)
        }
        return .bytes(bytes)
    }

    private static func malformed(_ value: Value, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .invalidArgument, message: "\(ValueExcerpt.text(of: value)) is not Base64", range: range)
    }
}
