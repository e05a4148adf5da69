/// A generator of pseudo-random numbers. The same seed produces the same sequence on every machine with every
/// toolchain.
///
/// Source: Guy L. Steele Jr., Doug Lea, Christine H. Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014, in the form with the constants of Sebastiano Vigna (<https://prng.di.unimi.it/splitmix64.c>, public domain).
/// Do not use it for secrets.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator. All seeds are equally good.
    public init(seed: UInt64) {
        state = seed
    }

    /// Returns the next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// Returns an index below `count`, by the upper half of a product. The bias is below `count` / 2⁶⁴.
    ///
    /// Source: Daniel Lemire, "Fast random integer generation in an interval", 2019, without the rejection.
    ///
    /// The standard library's choice of an index may change between toolchains; this one does not.
    ///
    /// - Parameter count: At least 1; a smaller count returns 0.
    mutating func index(below count: Int) -> Int {
        guard count > 1 else { return 0 }
        return Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(count)).high)
    }
}
