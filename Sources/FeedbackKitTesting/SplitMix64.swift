/// A generator of pseudo-random numbers that gives the same sequence for the same seed on every machine, with every
/// toolchain.
///
/// Source: Guy L. Steele Jr., Doug Lea, Christine H. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014, in the form with the constants of Sebastiano Vigna (<https://prng.di.unimi.it/splitmix64.c>, public
/// domain). It is not for secrets.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins the sequence of this seed. Every seed is as good as any other.
    public init(seed: UInt64) {
        state = seed
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// An index below `count`, by the upper half of a product (Daniel Lemire, "Fast random integer generation in an
    /// interval", 2019, without the rejection: the bias is below `count` / 2⁶⁴).
    ///
    /// The standard library's own choice of an index may change from one toolchain to the next; this one does not.
    ///
    /// - Parameter count: at least 1; for anything less the answer is 0.
    mutating func index(below count: Int) -> Int {
        guard count > 1 else { return 0 }
        return Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(count)).high)
    }
}
