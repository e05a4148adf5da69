public import Synchronization

/// The decision of a feedback about its side effect for a new state.
@usableFromInline
enum Selection<Control: Sendable>: Sendable {
    /// Continue the running effect.
    case keep
    /// Cancel the running effect.
    case stop
    /// Cancel the running effect and start one for this value.
    case start(Control)
}

/// The memory of a feedback within one loop. Only the loop's executor accesses it. The compiler requires the lock,
/// which is never held during a call.
@usableFromInline
final class LoopMemory<Value: Sendable>: Sendable {
    @usableFromInline let storage: Mutex<Value>

    @inlinable
    init(_ value: Value) {
        storage = Mutex(value)
    }

    @inlinable
    var value: Value {
        get { storage.withLock { $0 } }
        set {
            // The old value leaves the lock before it is released.
            _ = exchange(newValue)
        }
    }

    /// Stores a value and returns the old one.
    @inlinable
    func exchange(_ new: Value) -> Value {
        storage.withLock { value in
            let old = value
            value = new
            return old
        }
    }
}

extension Feedback {
    /// Creates the feedback behind most operators: only the latest side effect runs, and a state may leave it
    /// unaffected.
    @inlinable
    static func selecting<Memory: Sendable, Control: Sendable>(
        name: String, from initial: Memory,
        select: @escaping @Sendable (inout Memory, S, E?) -> Selection<Control>,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let memory = LoopMemory(initial)
                return { state, event in
                    var value = memory.value
                    let selection = select(&value, state, event)
                    memory.value = value
                    switch selection {
                    case .keep: return .nothing
                    case .stop: return .cancelPrevious
                    case .start(let control): return effects(control).replacingPrevious()
                    }
                }
            })
    }
}
