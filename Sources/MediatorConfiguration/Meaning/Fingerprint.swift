/// A number that is the same for parts of a configuration that mean the same, and otherwise differs.
///
/// It is taken from what was written: names, values with their types, expressions by their text. Where it is written,
/// comments, descriptions, the way a scalar is quoted, and the order of keys do not count; the order of what is tried or
/// shown one after the other (rules, feedbacks) does, and so does the order of a state's or an event's fields. Linear.
///
/// The hash is FNV-1a of 128 bits (draft-eastlake-fnv, "FNV Basics"), only that it takes words of 64 bits instead of
/// octets. It guards against chance, not against malice:
/// whoever writes the configuration may as well write another.
struct Fingerprint {
    private var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    /// The texts that were added, if somebody wants to know.
    var texts: [String]?
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// The number, shortened.
    var short: UInt64 { UInt64(truncatingIfNeeded: hash ^ hash >> 64) }

    /// The number as 32 hexadecimal digits.
    var text: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            for index in 0..<32 {
                let digit = UInt8(truncatingIfNeeded: hash >> UInt128(124 - 4 * index)) & 0xF
                buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 32
        }
    }

    private mutating func add(_ word: UInt64) {
        hash = (hash ^ UInt128(word)) &* Self.prime
    }

    mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

    /// Texts are told apart by their lengths, so that no two sequences of them look alike.
    mutating func add(_ text: String) {
        texts?.append(text)
        var text = text
        text.withUTF8 { bytes in
            add(bytes.count)
            var start = 0
            while start < bytes.count {
                var word: UInt64 = 0
                for index in start..<min(start + 8, bytes.count) { word = word << 8 | UInt64(bytes[index]) }
                add(word)
                start += 8
            }
        }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        add(text)
    }

    mutating func add(_ scalar: Scalar) {
        // A quoted scalar is text; a plain one is what it looks like.
        let isText = scalar.style != .plain || CoreSchema(plain: scalar.text) == .text
        add(isText ? "text" : "plain")
        add(scalar.text)
    }

    mutating func add(_ buffer: BufferPolicy) {
        add(buffer.limit)
        add(buffer.overflow.rawValue)
    }
}
