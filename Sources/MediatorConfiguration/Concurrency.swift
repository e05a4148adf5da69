import FoundationEssentials
import Glibc
import Synchronization

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

    /// Calls a function for each number below `count`, on as many threads as the machine has processors, at most 8, and
    /// returns when all calls have. What the calls share they may only read.
    ///
    /// If the system has fewer threads to give, those do all the work. (Dispatch would wait until it has.)
    package static func map<Result>(_ count: Int, _ body: (Int) -> Result) -> [Result] {
        guard count > 1 else { return (0..<count).map(body) }
        return Array(unsafeUninitializedCapacity: count) { buffer, initializedCount in
            // Safe: each call writes its own place, and nobody reads one before all have returned. `body` outlives the
            // calls, and they only read its captures.
            nonisolated(unsafe) let (buffer, body) = (buffer, body)
            let next = Numbers(below: count)
            let work = { while let index = next.take() { buffer.initializeElement(at: index, to: body(index)) } }
            withoutActuallyEscaping(work) { work in
                // Safe: the threads end before this closure returns, and `work` only takes a number and writes its place.
                nonisolated(unsafe) let work = work
                let threads = min(count, max(1, ProcessInfo.processInfo.activeProcessorCount), mostThreads)
                let others = (1..<threads).compactMap { _ in JoinedThread { work() } }
                work()
                for thread in others { thread.join() }
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

/// The numbers below a limit, each of which is taken once.
private final class Numbers: Sendable {
    private let limit: Int
    private let next = Atomic(0)

    init(below limit: Int) { self.limit = limit }

    func take() -> Int? {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return number < limit ? number : nil
    }
}

/// A thread that another one waits for.
private struct JoinedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let thread: pthread_t

    /// Starts a thread, unless the system has none to give.
    init?(_ run: @escaping @Sendable () -> Void) {
        let body = Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            return nil
        }
        self.thread = thread
    }

    /// Waits until the thread has ended.
    func join() { pthread_join(thread, nil) }
}
