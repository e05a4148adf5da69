#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Writes floating-point numbers with a given number of digits, rounded correctly, half to even.
enum DecimalText {
    /// The most characters apart from the digits after the point: a sign, 309 digits, a point and an exponent.
    private static let longestWhole = 320

    /// Returns the number with a number of digits after the point, like C's `%.*f`.
    static func fixed(_ number: Double, digits: Int) -> String { text("%.*f", number, digits) }

    /// Returns the number with one digit before the point, a number of digits after it, and an exponent of at least two
    /// digits, like C's `%.*e`.
    static func scientific(_ number: Double, digits: Int) -> String { text("%.*e", number, digits) }

    private static func text(_ format: String, _ number: Double, _ digits: Int) -> String {
        guard number.isFinite else { return DoubleText.text(of: number) }
        let capacity = longestWhole + digits
        return withVaList([Int32(clamping: digits), number]) { arguments in
            String(unsafeUninitializedCapacity: capacity) { buffer in
                buffer.withMemoryRebound(to: CChar.self) { text in
                    // The capacity is enough, so the result is the number of characters without the NUL.
                    min(capacity - 1, max(0, Int(vsnprintf(text.baseAddress, capacity, format, arguments))))
                }
            }
        }
    }
}
