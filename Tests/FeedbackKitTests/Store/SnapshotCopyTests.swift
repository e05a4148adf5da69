import FeedbackKit
import Synchronization
import Testing

/// An executor that keeps its jobs until a test runs them.
private final class Deferred: LoopExecutor {
    let eventsPerTurn = 256
    private let turns = Mutex<[@Sendable () -> Void]>([])

    func enqueue(_ turn: @escaping @Sendable () -> Void) { turns.withLock { $0.append(turn) } }

    /// Runs all requested jobs.
    func run() {
        let due = turns.withLock { turns in
            defer { turns = [] }
            return turns
        }
        for turn in due { turn() }
    }
}

/// A state that calls a function when it is printed.
private struct Printed: CustomStringConvertible, Sendable {
    let print: @Sendable () -> Void
    var description: String {
        print()
        return "printed"
    }
}

/// An event whose release is observable.
private final class Parcel: Sendable {}

/// A weak reference to an event.
private final class Faint: Sendable {
    weak let parcel: Parcel?
    init(_ parcel: Parcel) { self.parcel = parcel }
}

@Suite struct `A snapshot` {
    /// If the snapshot held a copy of the mailbox while it prints the state, the next activation would copy all events
    /// under the lock. The event of that activation would also live until the snapshot is done.
    @Test func `does not copy the mailbox`() {
        let executor = Deferred()
        let sent = Mutex<Faint?>(nil)
        let isKept = Mutex(true)
        let hasTurned = Mutex(false)
        let loop = Loop<Printed, Parcel>(
            initial: Printed {
                // During the snapshot, an activation takes an event.
                executor.run()
                isKept.withLock { $0 = sent.withLock { $0 }?.parcel != nil }
            }, executor: executor
        ) { _, _ in
            hasTurned.withLock { $0 = true }
            return .stay
        }
        loop.start()
        executor.run()
        func send() {
            let parcel = Parcel()
            sent.withLock { $0 = Faint(parcel) }
            loop.send(parcel)
        }
        send()
        #expect(sent.withLock { $0 }?.parcel != nil)
        #expect(loop.snapshot.waiting == 1)
        #expect(hasTurned.withLock { $0 })
        #expect(!isKept.withLock { $0 })
    }
}
