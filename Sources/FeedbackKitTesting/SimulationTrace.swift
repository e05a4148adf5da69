/// A line-by-line log of a simulation, for comparing two runs byte for byte.
///
/// ```text
/// loop 1 has the state Kettle
/// 1 0.0 seconds turn 1 by 0
/// loop 1 starts in cold
/// loop 1 starts effect 1 of heating
/// sleep 4 until 2.0 seconds
/// 2 2.0 seconds wake 4 by 4
/// loop 1 takes boiled in cold
/// ```
///
/// A line that begins with a number is a step. It contains:
///
/// - the number of the step and the time,
/// - the kind of entry (a `turn` of a loop, a `job` of a task, the `wake` of a sleeper) and its number in the order of
///   arrival,
/// - the number of the entry that ran when it arrived (0 if none ran).
///
/// The lines of a loop report its events, states and effects. An event or a state has the name of its case or its type. The
/// other lines report the start or cancellation of a sleep, or are notes of the test.
public struct SimulationTrace: Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of lines that are kept; later lines are only counted and digested.
    public static let maximumLines = 20_000

    /// The seed of the run.
    public let seed: UInt64
    /// The first lines, at most ``maximumLines``.
    public private(set) var lines: [String] = []
    /// The last few lines.
    private(set) var latest: [String] = []
    /// The number of lines.
    public private(set) var count = 0
    /// A digest of all lines, including those not kept: FNV-1a with 64 bits (Fowler, Noll, Vo).
    public private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates an empty trace.
    init(seed: UInt64) {
        self.seed = seed
    }

    /// Adds a line.
    mutating func add(_ line: String) {
        count += 1
        var digest = digest
        var line = line
        line.withUTF8 { for byte in $0 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 } }
        self.digest = (digest ^ 0x0a) &* 0x100_0000_01b3
        if lines.count < Self.maximumLines { lines.append(line) }
        if latest.count == 6 { latest.removeFirst() }
        latest.append(line)
    }

    /// The lines, followed by the seed, the count and the digest.
    public var description: String {
        let kept = lines.joined(separator: "\n")
        return kept + "\nseed \(seed), \(count) lines, digest \(String(digest, radix: 16))"
    }
}
