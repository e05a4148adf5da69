import CRE2

/// A compiled regular expression in the syntax of RE2, which matches in time linear in the text.
final class RegularExpression: Sendable {
    /// The reason why a pattern cannot be used.
    struct Refusal: Error {
        let message: String
    }

    /// The longest message taken from the library, in bytes.
    private static let longestMessage = 200

    private let pattern: Pattern

    /// The owner of the compiled pattern.
    ///
    /// It is `@unchecked Sendable` because a pointer is not `Sendable`. The pattern is never changed, the library
    /// allows any number of threads to match with it at once, and it is freed with its last owner.
    private final class Pattern: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit { cre2_free(pointer) }
    }

    /// Compiles a pattern.
    /// - Parameters:
    ///   - text: The pattern.
    ///   - memory: The most bytes that it may use, compiled and while it matches.
    init(_ text: String, memory: Int) throws(Refusal) {
        var text = text
        var message = [CChar](repeating: 0, count: Self.longestMessage)
        let pointer = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                message.withUnsafeMutableBufferPointer { message in
                    cre2_compile(
                        characters.baseAddress, characters.count, Int64(memory), message.baseAddress, message.count)
                }
            }
        }
        guard let pointer else {
            let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw Refusal(message: String(decoding: bytes, as: UTF8.self))
        }
        pattern = Pattern(pointer)
    }

    /// The number of instructions of the compiled pattern.
    var size: Int { Int(cre2_size(pattern.pointer)) }

    /// Returns whether the pattern matches some part of a text.
    func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                cre2_matches(pattern.pointer, characters.baseAddress, characters.count)
            }
        }
    }

    /// The number of capturing groups.
    var groups: Int { Int(cre2_groups(pattern.pointer)) }

    /// Finds the first match in a text in UTF-8, from a position on.
    ///
    /// - Returns: The ranges of the match and of its groups, `nil` for a group that takes no part; `nil` without a match.
    func find(in text: [UInt8], from start: Int) -> [Range<Int>?]? {
        var spans = [cre2_span](repeating: cre2_span(), count: 1 + groups)
        let isFound = text.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                cre2_find(pattern.pointer, characters.baseAddress, characters.count, start, &spans, Int32(spans.count))
            }
        }
        guard isFound else { return nil }
        return spans.map { $0.begin < 0 ? nil : Int($0.begin)..<Int($0.begin + $0.length) }
    }
}
