import Dispatch
import FeedbackKit
import Foundation
import MediatorHost
import Synchronization
import Testing

/// The place of a turn: the job of the pool, and its thread.
private struct Place: Equatable {
    let job: Int
    let thread: pthread_t

    static var present: Place { Place(job: withUnsafeCurrentTask { $0?.hashValue ?? 0 }, thread: pthread_self()) }
}

/// Real threads.
@Suite(.timeLimit(.minutes(5))) struct `The pool of the configured systems` {
    /// Those of two systems.
    private let pool = HostPool()
    private let other = HostPool()

    @Test func `a turn that another asks for follows it on its thread`() async {
        let places = await withCheckedContinuation { continuation in
            pool.enqueue {
                let first = Place.present
                let isOver = Flag()
                other.enqueue { continuation.resume(returning: (first, Place.present, isOver.value.withLock { $0 })) }
                isOver.value.withLock { $0 = true }
            }
        }
        #expect(places.0 == places.1 && places.2)
    }

    /// A turn that waits for another shows that this one does not wait for it.
    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "two threads are needed"))
    func `of two that it asks for, the second waits for neither`() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            pool.enqueue {
                let second = DispatchSemaphore(value: 0)
                other.enqueue {
                    second.wait()
                    continuation.resume()
                }
                other.enqueue { second.signal() }
            }
        }
    }

    @Test func `after sixteen others get the thread`() async {
        let jobs = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
            let jobs = Jobs()
            @Sendable func turn(_ left: Int) {
                jobs.all.withLock { $0.append(Place.present.job) }
                guard left > 1 else { return continuation.resume(returning: jobs.all.withLock { $0 }) }
                (left % 2 == 0 ? other : pool).enqueue { turn(left - 1) }
            }
            pool.enqueue { turn(40) }
        }
        let rows = jobs.reduce(into: [(job: Int, count: Int)]()) { rows, job in
            if rows.last?.job == job { rows[rows.count - 1].count += 1 } else { rows.append((job, 1)) }
        }
        #expect(rows.map(\.count) == [16, 16, 8])
    }

    /// It has had its share of events.
    @Test func `a system that goes on gives the thread to others`() async {
        let jobs = await withCheckedContinuation { continuation in
            pool.enqueue {
                let first = Place.present.job
                pool.enqueue { continuation.resume(returning: (first, Place.present.job)) }
            }
        }
        #expect(jobs.0 != jobs.1)
    }

    /// A turn outside of the pool may block, and leaves nothing to its thread.
    @Test func `a turn of the shared pool has no row`() async {
        let jobs = await withCheckedContinuation { continuation in
            SharedPool().enqueue {
                let first = Place.present.job
                pool.enqueue { continuation.resume(returning: (first, Place.present.job)) }
            }
        }
        #expect(jobs.0 != jobs.1)
    }
}

private final class Flag: Sendable {
    let value = Mutex(false)
}

private final class Jobs: Sendable {
    let all = Mutex<[Int]>([])
}
