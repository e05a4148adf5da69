import FeedbackKit
import Glibc

/// Where a configured system turns: the shared pool, with small shares, since an event may cost expressions and log lines.
/// One that is flooded holds up the others by sixteen of its events. Each system has one of its own.
///
/// A turn that is asked for by another system's turn, as by a link from system to system, follows it on the same thread:
/// that spares a job, the waking of another thread, and the caches. So turns here must not block, or they would hold up
/// one that could go on elsewhere; what is written in Swift may, and turns on the ``SharedPool`` proper.
package struct HostPool: LoopExecutor {
    /// Tells a system's turns from those of others.
    private final class Owner: Sendable {}

    package let eventsPerTurn = 16
    private let owner = Owner()

    package init() {}

    package func enqueue(_ turn: @escaping @Sendable () -> Void) {
        let owner = ObjectIdentifier(owner)
        if let row = TurnRow.present, row.take(turn, of: owner) { return }
        SharedPool().enqueue { TurnRow.run(turn, of: owner) }
    }
}

/// The turns that follow each other on a thread of the pool.
private final class TurnRow {
    /// How many of them, before others of the pool get the thread.
    static let limit = 16

    /// Under which a thread has the row that it is at.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no key for what a thread keeps: error \(code)")
        return key
    }()

    /// Whose turn it is.
    private var present: ObjectIdentifier
    /// What is to be turned next, and whose that is.
    private var next: (turn: @Sendable () -> Void, owner: ObjectIdentifier)?

    private init(_ owner: ObjectIdentifier) { present = owner }

    /// The row that this thread is at.
    static var present: TurnRow? {
        pthread_getspecific(key).map { Unmanaged<TurnRow>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Takes a turn, if none waits; else another thread may have it. One who has had its share gives the thread to others.
    func take(_ turn: @escaping @Sendable () -> Void, of owner: ObjectIdentifier) -> Bool {
        guard next == nil, owner != present else { return false }
        next = (turn, owner)
        return true
    }

    /// Turns, and then what has been asked for meanwhile.
    static func run(_ first: @escaping @Sendable () -> Void, of owner: ObjectIdentifier) {
        let row = TurnRow(owner)
        pthread_setspecific(key, Unmanaged.passUnretained(row).toOpaque())
        // The thread knows of the row only as long as it is here.
        defer { withExtendedLifetime(row) { _ = pthread_setspecific(key, nil) } }
        var turn = first
        for _ in 0..<limit {
            turn()
            guard let next = row.next else { return }
            row.next = nil
            (turn, row.present) = next
        }
        SharedPool().enqueue { [turn, owner = row.present] in run(turn, of: owner) }
    }
}

/// The priority of looking after systems: higher than theirs, so that who looks in, changes or stops them need not wait
/// behind whatever floods them.
extension TaskPriority {
    package static let management = TaskPriority.high
}
