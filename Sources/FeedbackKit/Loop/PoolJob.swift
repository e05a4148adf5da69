public import Synchronization

/// A job of the shared pool: a turn, then the turn of another loop which that has set off, and so on.
///
/// What a turn sets off while it is about to end goes on within the same job: a thread woken for it would find nothing
/// else to do. A turn that does not end hands on what waits (``handOn()``), so that another thread can take it.
@usableFromInline
final class PoolJob: Sendable {
    /// The job that the code at hand runs in; `nil`: none, or none of a loop.
    @TaskLocal @usableFromInline static var current: PoolJob?

    /// After so many turns others get the thread.
    private static let turns = 64

    private struct Guarded: Sendable {
        var next: (@Sendable () -> Void)?
        var isOver = false
    }
    private let guarded = Mutex(Guarded())
    /// Whether a turn waits: a quick look, without the lock.
    @usableFromInline let isLoaded = Atomic<Bool>(false)

    private init() {}

    /// Begins a job of the pool with this turn.
    @usableFromInline
    static func begin(_ turn: @escaping @Sendable () -> Void) {
        Task.detached {
            let job = PoolJob()
            $current.withValue(job) { job.run(turn) }
        }
    }

    private func run(_ first: @escaping @Sendable () -> Void) {
        var turn = first
        for _ in 0..<Self.turns {
            turn()
            guard let next = takeOrEnd() else { return }
            turn = next
        }
        Self.begin(turn)
        if let rest = end() { Self.begin(rest) }
    }

    /// Has this turn follow the one that is under way; `false`: another does already, or the job is over. A task that
    /// was begun in the job may still hold it then.
    func add(_ turn: @escaping @Sendable () -> Void) -> Bool {
        guarded.withLock { guarded in
            guard !guarded.isOver, guarded.next == nil else { return false }
            guarded.next = turn
            isLoaded.store(true, ordering: .relaxed)
            return true
        }
    }

    /// The turn under way goes on: what waits behind it need not.
    @usableFromInline
    func handOn() {
        if let next = take() { Self.begin(next) }
    }

    private func take() -> (@Sendable () -> Void)? {
        guarded.withLock { guarded in
            isLoaded.store(false, ordering: .relaxed)
            return guarded.next.take()
        }
    }

    /// The next turn; if there is none, the job is over.
    private func takeOrEnd() -> (@Sendable () -> Void)? {
        guarded.withLock { guarded in
            isLoaded.store(false, ordering: .relaxed)
            guarded.isOver = guarded.next == nil
            return guarded.next.take()
        }
    }

    /// The job is over; answers the turn that still waits.
    private func end() -> (@Sendable () -> Void)? {
        guarded.withLock { guarded in
            guarded.isOver = true
            return guarded.next.take()
        }
    }
}
