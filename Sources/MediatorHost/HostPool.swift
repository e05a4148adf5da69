import FeedbackKit

/// Where configured systems turn: the shared pool, with small shares, since an event may cost expressions and log lines.
/// One that is flooded holds up the others by sixteen of its events.
struct HostPool: LoopExecutor {
    let eventsPerTurn = 16

    func enqueue(_ turn: @escaping @Sendable () -> Void) {
        SharedPool().enqueue(turn)
    }
}

/// The priority of looking after systems: higher than theirs, so that who looks in, changes or stops them need not wait
/// behind whatever floods them.
extension TaskPriority {
    package static let management = TaskPriority.high
}
