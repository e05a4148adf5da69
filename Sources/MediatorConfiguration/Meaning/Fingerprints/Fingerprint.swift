/// A number that is equal for parts of a configuration with the same meaning, and otherwise differs.
///
/// It covers names, values with their types, and expressions by their text. It does not cover places, comments,
/// descriptions, quotation marks and the order of keys. The order of rules, feedbacks and fields counts. Linear.
///
/// The hash is FNV-1a of 128 bits (draft-eastlake-fnv, "FNV Basics"), but over words of 64 bits instead of octets. It
/// guards against chance, not against malice: an author of the configuration can write another one anyway.
struct Fingerprint {
    private var hash = Fingerprint.basis
    /// The texts that were added, if they are needed.
    var texts: [String]?
    private static let basis: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// A Boolean value that indicates whether nothing has been added.
    var isEmpty: Bool { hash == Self.basis }

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

    /// Adds a number of the configuration. It is a value, and not a count of values.
    mutating func add(written number: Int) {
        texts?.append("\(number)")
        add(number)
    }

    /// - Parameter shown: The form of the text in ``texts``.
    mutating func add(_ text: String, shown: String? = nil) {
        texts?.append(shown ?? text)
        mark(text)
    }

    /// Adds a word that tells two forms apart, and is no value itself.
    ///
    /// The length precedes each text, so that no two sequences of texts are alike.
    mutating func mark(_ text: String) {
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
        // A quoted scalar is text. The form of a plain one decides its type.
        let isText = scalar.style != .plain || CoreSchema(plain: scalar.text) == .text
        mark(isText ? "text" : "plain")
        add(scalar.text)
    }

    mutating func add(_ buffer: BufferPolicy) {
        add(written: buffer.limit)
        add(buffer.overflow.rawValue)
    }
}
