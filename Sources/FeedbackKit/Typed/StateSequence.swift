/// A system of typed feedbacks, described but not running: what `system(initial:reduce:feedbacks:)` returns.
///
/// There are two ways to run it. As a sequence of states it is cold, like the producers and publishers of the
/// originals: each iteration makes a loop of its own, starts it when the first state is asked for, and cancels it when
/// the iteration ends, be it by `break`, because the task is cancelled, or because the iterator is released. As an
/// object, ``makeLoop()`` gives a ``Loop``, to start, stop, look at and send to.
///
///     for await count in system(initial: 0, reduce: reduce, feedbacks: [increment, decrement]) {
///         label.text = String(count)
///     }
public struct StateSequence<State: Sendable, Event: Sendable>: AsyncSequence, Sendable {
    /// A state.
    public typealias Element = State
    /// It never fails. A fault of the loop ends the sequence.
    public typealias Failure = Never

    /// What to keep for a reader that is slower than the loop.
    @usableFromInline var buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    @usableFromInline let make: @Sendable () -> Loop<State, Event>

    @inlinable
    init(make: @escaping @Sendable () -> Loop<State, Event>) {
        self.make = make
    }

    /// A loop as described, not yet started. Each call makes another.
    @inlinable
    public func makeLoop() -> Loop<State, Event> { make() }

    /// Says what an iteration keeps for a reader that is slower than the loop; everything, if not said.
    @inlinable
    public func buffering(_ policy: AsyncStream<State>.Continuation.BufferingPolicy) -> StateSequence {
        var copy = self
        copy.buffering = policy
        return copy
    }

    /// An iterator; the loop is made and started with the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the states of a loop that lives as long as the iterator.
    public struct Iterator: AsyncIteratorProtocol {
        /// Cancels the loop when the last copy of the iterator is gone.
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

        /// The next state, the initial one first; `nil` when the loop has stopped or the task is cancelled.
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
