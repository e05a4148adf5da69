/// Knows whether a task is a side effect of a loop, so that a side effect that waits for the end of its own loop does not
/// wait for ever.
@usableFromInline
enum OwnEffect {
    /// A loop, and the task of one of its side effects.
    private struct Mark: Sendable {
        let loop: ObjectIdentifier
        let task: Int
    }

    private static let mark = TaskLocal<Mark?>(wrappedValue: nil)

    /// The identity of the current task; 0 outside of tasks.
    private static var task: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }

    /// Runs a side effect of a loop in its task, with the task-local values of the event that led to it.
    @usableFromInline
    static func run(
        of loop: any AnyObject & Sendable, with baggage: Baggage?, _ body: @Sendable () async -> Void
    ) async {
        await mark.withValue(Mark(loop: ObjectIdentifier(loop), task: task)) {
            if let baggage { await baggage.bind(body) } else { await body() }
        }
    }

    /// Returns a Boolean value that indicates whether the current task is a side effect of a loop. A task that the side
    /// effect has started is not.
    @usableFromInline
    static func isCurrent(of loop: AnyObject) -> Bool {
        guard let mark = mark.get() else { return false }
        return mark.loop == ObjectIdentifier(loop) && mark.task == task
    }
}
