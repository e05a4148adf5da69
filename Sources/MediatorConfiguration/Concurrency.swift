import Dispatch
import FoundationEssentials

/// Work on several threads at once, whose result does not depend on how many there are.
package enum Concurrency {
    /// So many files, or systems to build, at least are worth a thread.
    private static let filesPerThread = 32
    /// More bring little: what comes after is done by one.
    private static let mostThreads = 8

    /// How many threads that many files are worth on this machine.
    package static func threads(for files: Int) -> Int {
        max(1, min(files / filesPerThread, ProcessInfo.processInfo.activeProcessorCount, mostThreads))
    }

    /// In how many parts to do what so many threads share: many more than there are of these, so that none waits long for
    /// the last part of another.
    static func parts(_ threads: Int) -> Int { threads > 1 ? 16 * threads : 1 }

    /// The elements of one part of so many, in order; the parts are about equally long.
    package static func part<Element>(_ index: Int, of elements: [Element], in count: Int) -> ArraySlice<Element> {
        elements[elements.count * index / count..<elements.count * (index + 1) / count]
    }

    /// Calls a function for each number below `count`, on as many threads as the machine has processors, and returns
    /// when all calls have. What the calls share they may only read.
    package static func map<Result>(_ count: Int, _ body: (Int) -> Result) -> [Result] {
        guard count > 1 else { return (0..<count).map(body) }
        return Array(unsafeUninitializedCapacity: count) { buffer, initializedCount in
            // Safe: each call writes a place of its own, and nobody reads one before all have returned; `body` outlives them,
            // and what it captures is only read.
            nonisolated(unsafe) let (buffer, body) = (buffer, body)
            DispatchQueue.concurrentPerform(iterations: count) { index in
                buffer.initializeElement(at: index, to: body(index))
            }
            initializedCount = count
        }
    }

    /// Does two things, each on a thread of its own if there may be two, and returns when both are done. What they share they
    /// may only read.
    static func both<First, Second>(
        _ threads: Int, _ first: () -> First, _ second: () -> Second
    ) -> (First, Second) {
        guard threads > 1 else { return (first(), second()) }
        let results = withoutActuallyEscaping(first) { first in
            withoutActuallyEscaping(second) { second in
                map(2) { $0 == 0 ? Either.first(first()) : .second(second()) }
            }
        }
        guard case .first(let first) = results[0], case .second(let second) = results[1] else {
            preconditionFailure("each of the two calls gives what it was asked for")
        }
        return (first, second)
    }

    private enum Either<First, Second> {
        case first(First)
        case second(Second)
    }
}
