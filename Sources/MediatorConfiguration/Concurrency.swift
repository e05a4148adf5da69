import Dispatch
import FoundationEssentials

/// Work on several threads at once, whose result does not depend on how many there are.
package enum Concurrency {
    /// The least number of files, or of systems to build, that is worth a thread.
    private static let filesPerThread = 32
    /// More bring little: what comes after is done by one.
    private static let mostThreads = 8

    /// The number of threads that so many files are worth on this machine.
    package static func threads(for files: Int) -> Int {
        max(1, min(files / filesPerThread, ProcessInfo.processInfo.activeProcessorCount, mostThreads))
    }

    /// The number of parts into which work for some threads is divided. There are many more parts than threads, so that
    /// no thread waits long for the last part of another.
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
            // Safe: each call writes its own place, and nobody reads one before all have returned. `body` outlives the
            // calls, and they only read its captures.
            nonisolated(unsafe) let (buffer, body) = (buffer, body)
            DispatchQueue.concurrentPerform(iterations: count) { index in
                buffer.initializeElement(at: index, to: body(index))
            }
            initializedCount = count
        }
    }

    /// Calls two functions, each on its own thread if two threads are allowed, and returns when both have ended. They
    /// may only read shared data.
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
            preconditionFailure("each of the two calls returns its own value")
        }
        return (first, second)
    }

    private enum Either<First, Second> {
        case first(First)
        case second(Second)
    }
}
