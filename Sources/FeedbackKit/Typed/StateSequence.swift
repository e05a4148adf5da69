/// A description of a system of typed feedbacks, returned by `system(initial:reduce:feedbacks:)`. It does not run by
/// itself.
///
/// There are two ways to run it. As a sequence of states it is cold, like the originals' producers and publishers: each
/// iteration makes a loop of its own. The loop starts when the first state is requested. It is cancelled when the
/// iteration ends: by `break`, by cancellation of the task, or when the iterator is released. As an object,
/// ``makeLoop()`` returns a ``Loop`` to start, stop, inspect and send to.
///
///     for await count in system(initial: 0, reduce: reduce, feedbacks: [increment, decrement]) {
///         label.text = String(count)
///     }
public struct StateSequence<State: Sendable, Event: Sendable>: AsyncSequence, Sendable {
    /// A state.
    public typealias Element = State
    /// The sequence never throws. A fault of the loop ends it.
    public typealias Failure = Never

    /// The policy for a reader that is slower than the loop.
    @usableFromInline var buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    @usableFromInline let make: @Sendable () -> Loop<State, Event>

    @inlinable
    init(make: @escaping @Sendable () -> Loop<State, Event>) {
        self.make = make
    }

    /// Returns a new loop that has not started. Each call creates another one.
    @inlinable
    public func makeLoop() -> Loop<State, Event> { make() }

    /// Sets the buffering policy for a reader that is slower than the loop. By default every state is kept.
    @inlinable
    public func buffering(_ policy: AsyncStream<State>.Continuation.BufferingPolicy) -> StateSequence {
        var copy = self
        copy.buffering = policy
        return copy
    }

    /// Returns an iterator, which makes and starts the loop in the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// An iterator over the states of a loop that lives as long as the iterator.
    public struct Iterator: AsyncIteratorProtocol {
        /// Cancels the loop when the last copy of the iterator is released.
        private final class Run: Sendable {
            let loop: Loop<State, Event>

            init(_ loop: Loop<State, Event>) {
                self.loop = loop
            }

            deinit {
                loop.cancel()
            }
        }

        private enum Phase {
            case notStarted(StateSequence)
            case running(Run, AsyncStream<State>.Iterator)
            case over
        }

        private var phase: Phase

        init(_ sequence: StateSequence) {
            phase = .notStarted(sequence)
        }

        /// Returns the next state, the initial one first, or `nil` when the loop has stopped or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> State? {
            if case .notStarted(let sequence) = phase {
                let loop = sequence.makeLoop()
                let states = loop.states(buffering: sequence.buffering)
                loop.start()
                phase = .running(Run(loop), states.makeAsyncIterator())
            }
            guard case .running(let run, var states) = phase else { return nil }
            let state = await states.next(isolation: actor)
            phase = state == nil ? .over : .running(run, states)
            return state
        }
    }
}
