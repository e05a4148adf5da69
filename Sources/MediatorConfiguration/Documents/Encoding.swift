/// Checks that bytes are UTF-8 and hold only characters that YAML allows (YAML 1.2.2 § 5.1), so that the parser
/// never sees others.
enum Encoding {
    /// A mistake in a file's bytes.
    struct Fault: Equatable {
        /// The offset of the first wrong byte.
        var offset: Int
        /// The mistake.
        var message: String
        /// Advice.
        var hint: String
    }

    /// The first fault, or nil. Linear.
    static func firstFault(in source: SourceText) -> Fault? {
        let bytes = source.bytes
        let convert = "save the file as UTF-8"
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return Fault(offset: 0, message: "the file is UTF-16 or UTF-32, not UTF-8", hint: convert)
        }
        if source.isASCII { return source.hasControlCharacters ? controlCharacter(in: bytes[...]) : nil }
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x80 {
                if isForbidden(byte) { return controlCharacter(in: bytes[index...]) }
                index += 1
                continue
            }
            guard let (scalar, length) = decode(bytes, index) else {
                let text = "the byte 0x" + String(byte, radix: 16, uppercase: true) + " is not UTF-8"
                return Fault(offset: index, message: text, hint: convert)
            }
            if !isAllowed(scalar) {
                return Fault(
                    offset: index, message: "\(codePoint(scalar)) is not allowed in YAML",
                    hint: "delete it, or write it as an escape in double quotes")
            }
            index += length
        }
        return nil
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        byte < 0x20 ? byte != 0x09 && byte != 0x0A && byte != 0x0D : byte == 0x7F
    }

    private static func controlCharacter(in bytes: ArraySlice<UInt8>) -> Fault? {
        guard let index = bytes.firstIndex(where: isForbidden) else { return nil }
        if bytes[index] == 0 {
            return Fault(
                offset: index, message: "the file has a NUL byte: it is not text, or is UTF-16",
                hint: "save the file as UTF-8")
        }
        return Fault(
            offset: index, message: "the control character \(codePoint(UInt32(bytes[index]))) is not allowed in YAML",
            hint: "delete it, or write it as an escape in double quotes")
    }

    /// One character of two to four bytes (Unicode 15, table 3-7), or nil.
    private static func decode(_ bytes: [UInt8], _ index: Int) -> (scalar: UInt32, length: Int)? {
        let lead = bytes[index]
        let length: Int
        var scalar: UInt32
        switch lead {
        case 0xC2...0xDF: (length, scalar) = (2, UInt32(lead & 0x1F))
        case 0xE0...0xEF: (length, scalar) = (3, UInt32(lead & 0x0F))
        case 0xF0...0xF4: (length, scalar) = (4, UInt32(lead & 0x07))
        default: return nil
        }
        guard index + length <= bytes.count else { return nil }
        for byte in bytes[(index + 1)..<(index + length)] {
            guard byte & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        switch length {
        case 3 where scalar < 0x800 || (0xD800...0xDFFF).contains(scalar): return nil
        case 4 where scalar < 0x10000 || scalar > 0x10FFFF: return nil
        default: return (scalar, length)
        }
    }

    private static func isAllowed(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x85: true
        case 0x80..<0xA0: false
        case 0xFEFF, 0xFFFE, 0xFFFF: false
        default: true
        }
    }

    private static func codePoint(_ scalar: UInt32) -> String {
        let digits = String(scalar, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
