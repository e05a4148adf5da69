import Dispatch
import Synchronization

/// A line of the table: its name, and how to measure it once.
public struct Line: Sendable {
    /// Measures a number of turns.
    private enum Measure: Sendable {
        /// On the main thread.
        case plain(@Sendable (Int) -> Sample)
        /// On the shared pool.
        case concurrent(@Sendable (Int) async -> Sample)
    }

    /// By which `run.sh` and the table know it.
    public let name: String
    /// The number of turns at scale 1, about half a second's worth.
    public let turns: Int
    private let measure: Measure

    /// A line that is measured on the main thread.
    public init(_ name: String, turns: Int, measure: @escaping @Sendable (_ turns: Int) -> Sample) {
        self.name = name
        self.turns = turns
        self.measure = .plain(measure)
    }

    /// A line that is measured on the shared pool.
    public init(_ name: String, turns: Int, concurrently measure: @escaping @Sendable (_ turns: Int) async -> Sample) {
        self.name = name
        self.turns = turns
        self.measure = .concurrent(measure)
    }

    /// Measures the lines named in the arguments, `program [--scale FACTOR] [NAME…]`, or all, and prints for each its
    /// name, figure, and nanoseconds of processor time a turn, separated by tabs.
    ///
    /// - Returns: the exit code: 2 if a name is unknown.
    public static func run(_ lines: [Line], arguments: [String]) -> Int32 {
        var names = Array(arguments.dropFirst())
        var scale = 1.0
        if let index = names.firstIndex(of: "--scale"), index + 1 < names.count {
            scale = Double(names[index + 1]).flatMap { $0 > 0 && $0 <= 1_000 ? $0 : nil } ?? 1
            names.removeSubrange(index...(index + 1))
        }
        let chosen = names.isEmpty ? lines : names.compactMap { name in lines.first { $0.name == name } }
        guard chosen.count == (names.isEmpty ? lines.count : names.count) else {
            print("unknown line; there are: \(lines.map(\.name).joined(separator: " "))")
            return 2
        }
        for line in chosen {
            let sample = line.measureOnce(max(1, Int(Double(line.turns) * scale)))
            print("\(line.name)\t\(sample.figure)\t\(sample.processorNanoseconds)")
        }
        return 0
    }

    /// Measures once. The main thread, which is none of the pool's, waits for the result.
    private func measureOnce(_ turns: Int) -> Sample {
        switch measure {
        case .plain(let body): return body(turns)
        case .concurrent(let body):
            let result = Result()
            let over = DispatchSemaphore(value: 0)
            Task.detached {
                let sample = await body(turns)
                result.sample.withLock { $0 = sample }
                over.signal()
            }
            over.wait()
            return result.sample.withLock { $0 }
        }
    }

    /// The place where a task leaves its sample.
    private final class Result: Sendable {
        let sample = Mutex(Sample(figure: 0))
    }
}
