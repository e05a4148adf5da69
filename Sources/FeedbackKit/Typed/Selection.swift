public import Synchronization

extension CancellationRule {
    /// Returns whether an operator that ends its side effects by itself ends them in this state.
    @inlinable
    func endsEffects(in state: S) -> Bool {
        switch self {
        case .onNewState, .boundToState: true
        case .never: false
        case .when(let condition): condition(state)
        }
    }

    /// A Boolean value that indicates whether such an operator also withdraws the events of effects that have ended.
    @inlinable
    var withdrawsEnded: Bool {
        if case .boundToState = self { true } else { false }
    }
}

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
    /// Creates the feedback behind all operators that end their side effects by themselves.
    ///
    /// - Parameters:
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for earlier side effects, in a state for which the function returns a side effect.
    ///   - memory: Returns a function for a loop. The function returns the next side effect, or `nil` for a state that
    ///     leaves the running one unaffected.
    @inlinable
    static func deciding(
        name: String, cancellation: CancellationRule<S>,
        memory: @escaping @Sendable () -> @Sendable (S, E?) -> Effect<E>?
    ) -> Feedback {
        var feedback = Feedback(
            name: name, cancellation: .never,
            memory: {
                let decide = memory()
                return { state, event in
                    guard let effect = decide(state, event) else { return .nothing }
                    return cancellation.endsEffects(in: state) ? effect.replacingPrevious() : effect
                }
            })
        feedback.withdrawsEnded = cancellation.withdrawsEnded
        return feedback
    }

    /// Creates the feedback behind most operators: only the latest side effect runs, and a state may leave it
    /// unaffected.
    @inlinable
    static func selecting<Memory: Sendable, Control: Sendable>(
        name: String, cancellation: CancellationRule<S> = .onNewState, from initial: Memory,
        select: @escaping @Sendable (inout Memory, S, E?) -> Selection<Control>,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback.deciding(
            name: name, cancellation: cancellation,
            memory: {
                let memory = LoopMemory(initial)
                return { state, event in
                    var value = memory.value
                    let selection = select(&value, state, event)
                    memory.value = value
                    switch selection {
                    case .keep: return nil
                    case .stop: return .some(.nothing)
                    case .start(let control): return effects(control)
                    }
                }
            })
    }
}
