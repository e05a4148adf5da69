public import Synchronization

/// What a state means for the side effect of a feedback that decides by itself when its effect begins and ends.
@usableFromInline
enum Selection<Control: Sendable>: Sendable {
    /// What runs goes on.
    case keep
    /// What runs is cancelled.
    case stop
    /// What runs is cancelled, and the effect for this value starts.
    case start(Control)
}

/// What a feedback remembers within one loop. Only the loop's turn touches it; the lock is there for the compiler's
/// sake and is never held while something is called.
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
            // The old value is handed out, so that it is not released under the lock.
            _ = exchange(newValue)
        }
    }

    /// Puts a value in and takes the one that was there out.
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
    /// The feedback under most operators: of its side effects only the latest runs, and a state may leave it alone.
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
