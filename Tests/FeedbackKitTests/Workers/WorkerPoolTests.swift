import Dispatch
import FeedbackKit
import Foundation
import Synchronization
import TestSupport
import Testing

/// Real threads.
@Suite(.timeLimit(.minutes(20))) struct `A pool of workers` {
    /// Runs a test with a new pool, returns its result, and closes the pool.
    private func with<Result: Sendable>(
        _ workers: Int, _ body: (WorkerPool, CheckedContinuation<Result, Never>) -> Void
    ) async -> Result {
        let pool = WorkerPool(workers: workers)
        defer { pool.close() }
        return await withCheckedContinuation { body(pool, $0) }
    }

    @Test func `an activation that another one asks for follows it on its thread`() async {
        let isSame = await with(4) { pool, continuation in
            pool.enqueue(
                Activation {
                    let thread = pthread_self()
                    pool.enqueue(Activation { continuation.resume(returning: pthread_self() == thread) })
                })
        }
        #expect(isSame)
    }

    @Test(arguments: [1, 2, 5]) func `can have its threads before the first work`(workers: Int) async {
        let isComplete = await with(workers) { (pool, continuation: CheckedContinuation<Bool, Never>) in
            #expect(pool.threads == workers + 1)
            #expect(pool.startedWorkers == 0)
            #expect(pool.start())
            #expect(pool.startedWorkers == workers)
            #expect(pool.start())
            pool.enqueue(Activation { continuation.resume(returning: pool.start()) })
        }
        #expect(isComplete)
    }

    @Test func `of two that it asks for, the first waits for neither`() async {
        await with(2) { (pool, continuation: CheckedContinuation<Void, Never>) in
            pool.enqueue(
                Activation {
                    let first = ThreadSemaphore()
                    pool.enqueue(Activation { first.signal() })
                    pool.enqueue(
                        Activation {
                            first.wait()
                            continuation.resume()
                        })
                })
        }
    }

    /// Each activation waits for the next one, which stands behind it. Only spare workers can run them.
    @Test(arguments: [1, 2]) func `what stands behind one that is held up gets another thread`(workers: Int) async {
        let depth = 10
        let count = await with(workers) { (pool, continuation: CheckedContinuation<Int, Never>) in
            let returned = Shared(Atomic<Int>(0))
            @Sendable func enter(_ left: Int, _ done: ThreadSemaphore) {
                pool.enqueue(
                    Activation {
                        let inner = ThreadSemaphore()
                        if left > 1 {
                            enter(left - 1, inner)
                            inner.wait()
                        }
                        let count = returned.value.wrappingAdd(1, ordering: .relaxed).newValue
                        done.signal()
                        if count == depth { continuation.resume(returning: count) }
                    })
            }
            enter(depth, ThreadSemaphore())
        }
        #expect(count == depth)
    }

    @Test func `gives the threads of spare workers back, and takes new ones`() async {
        let pool = WorkerPool(workers: 1, spareRest: 10)
        defer { pool.close() }
        for _ in 0..<3 {
            // The first waits for the second, which stands behind it.
            await withCheckedContinuation { continuation in
                pool.enqueue(
                    Activation {
                        let second = ThreadSemaphore()
                        pool.enqueue(Activation { second.signal() })
                        second.wait()
                        continuation.resume()
                    })
            }
            await suspend(while: pool.startedWorkers > 1)
        }
        #expect(pool.startedWorkers == 1)
    }

    @Test func `after sixteen in a row others get the thread`() async {
        // On a busy machine the monitor may take a pause of the thread for an activation that blocks, and give the other
        // activation to another thread. That does not happen again and again.
        var orders: [[String]] = []
        while orders.count < 20, orders.last?.firstIndex(of: "other") != 15 { orders.append(await row()) }
        #expect(orders.last?.firstIndex(of: "other") == 15, "\(orders)")
        #expect(orders.last?.count == 31)
    }

    /// The order of a row of thirty activations and another one behind the first.
    private func row() async -> [String] {
        await with(1) { (pool, continuation: CheckedContinuation<[String], Never>) in
            let order = Guarded<[String]>([])
            @Sendable func turn(_ left: Int) {
                order.value.withLock { $0.append("row") }
                if left > 1 {
                    pool.enqueue(Activation { turn(left - 1) })
                } else {
                    continuation.resume(returning: order.value.withLock { $0 })
                }
            }
            pool.enqueue(
                Activation {
                    pool.enqueueBehind(Activation { order.value.withLock { $0.append("other") } })
                    pool.enqueue(Activation { turn(30) })
                })
        }
    }

    @Test func `what comes from outside has its turn beside one that goes on for ever`() async {
        let isOver = Shared(Atomic<Bool>(false))
        let turns = Shared(Atomic<Int>(0))
        await with(1) { (pool, continuation: CheckedContinuation<Void, Never>) in
            @Sendable func goOn() {
                turns.value.wrappingAdd(1, ordering: .relaxed)
                if !isOver.value.load(ordering: .relaxed) { pool.enqueueBehind(Activation { goOn() }) }
                if turns.value.load(ordering: .relaxed) == 1000 {
                    DispatchQueue.global().async {
                        pool.enqueue(
                            Activation {
                                isOver.value.store(true, ordering: .relaxed)
                                continuation.resume()
                            })
                    }
                }
            }
            pool.enqueue(Activation { goOn() })
        }
        #expect(turns.value.load(ordering: .relaxed) >= 1000)
    }

    @Test(arguments: [1, 2, 4]) func `nothing is lost or doubled`(workers: Int) async {
        let senders = 8
        let each = 20_000
        let counts = await with(workers) { (pool, continuation: CheckedContinuation<[Int], Never>) in
            let runs = Guarded([Int](repeating: 0, count: senders * each))
            let left = Shared(Atomic<Int>(senders * each))
            @Sendable func run(_ number: Int) {
                runs.value.withLock { $0[number] += 1 }
                if left.value.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                    continuation.resume(returning: runs.value.withLock { $0 })
                }
            }
            for sender in 0..<senders {
                DispatchQueue.global().async {
                    for number in stride(from: sender * each, to: (sender + 1) * each, by: 4) {
                        pool.enqueue(
                            Activation {
                                // All kinds of requests by a worker.
                                pool.enqueue(Activation { run(number + 1) })
                                pool.enqueue(Activation { run(number + 2) })
                                pool.enqueueBehind(Activation { run(number + 3) })
                                run(number)
                            })
                    }
                }
            }
        }
        #expect(counts.allSatisfy { $0 == 1 })
    }
}

private final class Shared<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}

private final class Guarded<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
}
