import FeedbackKitTesting

/// Numbers that are the same in each run, with a state that a failure can name.
struct Dice: RandomNumberGenerator {
    /// The seed of the numbers from here on.
    private(set) var state: UInt64

    init(state: UInt64) { self.state = state }

    mutating func next() -> UInt64 {
        // The generator adds this constant to its state for each number.
        defer { state &+= 0x9e37_79b9_7f4a_7c15 }
        var generator = SplitMix64(seed: state)
        return generator.next()
    }

    /// Returns one of the texts.
    mutating func pick(_ texts: String...) -> String { texts[Int.random(in: texts.indices, using: &self)] }
}
