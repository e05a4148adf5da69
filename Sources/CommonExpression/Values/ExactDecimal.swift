/// Writes floating-point numbers with a given number of digits, rounded correctly, half to even.
///
/// A finite `double` is m · 2^e. For e ≥ 0 it is an integer; otherwise it is m · 5^-e / 10^-e, so that the decimal
/// digits of an integer and the place of the point give its exact value, which has at most 1 100 digits.
enum ExactDecimal {
    /// With so many digits after the point, as C's `%.*f`.
    static func fixed(_ number: Double, digits: Int) -> String {
        guard number.isFinite else { return DoubleText.text(of: number) }
        var decimal = Decimal(number.magnitude)
        decimal.round(toPlaces: digits)
        let sign = number.sign == .minus ? "-" : ""
        let whole = decimal.point > 0 ? decimal.digits.prefix(decimal.point) : [0]
        var text = sign + string(whole)
        guard digits > 0 else { return text }
        text += "." + string((0..<digits).map { decimal.digit(at: decimal.point + $0) })
        return text
    }

    /// With one digit before the point, so many after it, and an exponent of at least two digits, as C's `%.*e`.
    static func scientific(_ number: Double, digits: Int) -> String {
        guard number.isFinite else { return DoubleText.text(of: number) }
        var decimal = Decimal(number.magnitude)
        decimal.normalize()
        let isZero = decimal.digits == [0]
        if !isZero {
            decimal.round(toPlaces: digits + 1 - decimal.point)
            decimal.normalize()
        }
        var text = number.sign == .minus ? "-" : ""
        text += string([decimal.digit(at: 0)])
        if digits > 0 { text += "." + string((1...digits).map { decimal.digit(at: $0) }) }
        let exponent = isZero ? 0 : decimal.point - 1
        let magnitude = String(exponent.magnitude)
        return text + (exponent < 0 ? "e-" : "e+") + (magnitude.utf8.count < 2 ? "0" : "") + magnitude
    }

    private static func string(_ digits: some Sequence<UInt8>) -> String {
        String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    }

    /// Decimal digits and where the point lies: after the first `point` of them, before all where it is not positive.
    private struct Decimal {
        var digits: [UInt8]
        var point: Int

        /// The exact value of a finite number that is not negative.
        init(_ number: Double) {
            let isSubnormal = number.exponentBitPattern == 0
            let hidden: UInt64 = isSubnormal ? 0 : 1 << 52
            var exponent = Int(isSubnormal ? 1 : number.exponentBitPattern) - 1_075
            var significand = number.significandBitPattern | hidden
            while significand != 0, significand & 1 == 0, exponent < 0 {
                significand >>= 1
                exponent += 1
            }
            var limbs = Limbs(significand)
            // Twelve factors at a time: 5 to the twelfth is the largest power of 5 below the base of a limb.
            let factor: UInt64 = exponent > 0 ? 2 : 5
            let twelve = (0..<12).reduce(1) { product, _ in product * factor }
            for _ in 0..<(exponent.magnitude / 12) { limbs.multiply(by: twelve) }
            for _ in 0..<(exponent.magnitude % 12) { limbs.multiply(by: factor) }
            digits = limbs.digits
            point = digits.count + min(exponent, 0)
            if significand == 0 { (digits, point) = ([0], 1) }
        }

        func digit(at index: Int) -> UInt8 { digits.indices.contains(index) ? digits[index] : 0 }

        /// Drops leading zeros, so that the first digit is the first that counts.
        mutating func normalize() {
            let zeros = min(digits.prefix { $0 == 0 }.count, digits.count - 1)
            digits.removeFirst(zeros)
            point -= zeros
        }

        /// Rounds to so many digits after the point, which may be negative; half to even.
        mutating func round(toPlaces places: Int) {
            // Zeros in front make room for the digit that is kept and for a carry.
            if point < 1 {
                digits.insert(contentsOf: [UInt8](repeating: 0, count: 1 - point), at: 0)
                point = 1
            }
            let kept = point + places
            guard kept < digits.count, kept >= 0 else { return }
            let next = digits[kept]
            let isBeyondHalf = digits[(kept + 1)...].contains { $0 != 0 }
            let isOdd = kept > 0 && digits[kept - 1] % 2 == 1
            let roundsUp = next > 5 || (next == 5 && (isBeyondHalf || isOdd))
            digits.removeSubrange(kept...)
            if roundsUp { increment() }
            if digits.isEmpty { digits = [0] }
            while digits.count < point { digits.append(0) }
        }

        private mutating func increment() {
            var index = digits.count - 1
            while index >= 0 {
                if digits[index] < 9 {
                    digits[index] += 1
                    return
                }
                digits[index] = 0
                index -= 1
            }
            digits.insert(1, at: 0)
            point += 1
        }
    }

    /// A large integer, in limbs of nine decimal digits, the least first.
    private struct Limbs {
        static let base: UInt64 = 1_000_000_000
        var limbs: [UInt64] = []

        init(_ number: UInt64) {
            var number = number
            repeat {
                limbs.append(number % Self.base)
                number /= Self.base
            } while number > 0
        }

        mutating func multiply(by factor: UInt64) {
            var carry: UInt64 = 0
            for index in limbs.indices {
                let product = limbs[index] * factor + carry
                limbs[index] = product % Self.base
                carry = product / Self.base
            }
            if carry > 0 { limbs.append(carry) }
        }

        /// The decimal digits, the greatest first.
        var digits: [UInt8] {
            var digits: [UInt8] = []
            for limb in limbs {
                var limb = limb
                for _ in 0..<9 {
                    digits.append(UInt8(limb % 10))
                    limb /= 10
                }
            }
            while digits.count > 1, digits.last == 0 { digits.removeLast() }
            return digits.reversed()
        }
    }
}
