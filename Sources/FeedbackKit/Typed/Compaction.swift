/// A chain of pure steps from one stream of values to another, for the `compacting` feedbacks.
///
///     Feedback(compacting: { $0.map(\.query).removeDuplicates() }) { query in await search(query) }
///
/// The originals take a function from publisher to publisher instead. Here the steps run on the loop's executor. So a
/// side effect starts in the state that asked for it, and its events are withdrawn exactly. For the same reason no step
/// waits. To wait, use ``Effect/debounce(id:for:)`` in the effect, or ``Feedback/custom(name:buffering:_:)``. Each loop
/// has its own memory of the steps.
public struct Compaction<Input: Sendable, Output: Sendable>: Sendable {
    /// A step that takes a value and returns a value or `nil`.
    @usableFromInline typealias Step = @Sendable (Input) -> Output?

    /// Creates the steps for a new loop.
    @usableFromInline let make: @Sendable () -> Step

    @inlinable
    init(make: @escaping @Sendable () -> Step) {
        self.make = make
    }

    /// Appends a step without memory.
    @inlinable
    func then<Next: Sendable>(_ step: @escaping @Sendable (Output) -> Next?) -> Compaction<Input, Next> {
        let make = make
        return Compaction<Input, Next> {
            let before = make()
            return { input in before(input).flatMap(step) }
        }
    }

    /// Transforms each value.
    @inlinable
    public func map<Next: Sendable>(_ transform: @escaping @Sendable (Output) -> Next) -> Compaction<Input, Next> {
        then { transform($0) }
    }

    /// Transforms each value and drops `nil` results.
    @inlinable
    public func compactMap<Next: Sendable>(
        _ transform: @escaping @Sendable (Output) -> Next?
    ) -> Compaction<Input, Next> {
        then(transform)
    }

    /// Keeps only the values for which `isIncluded` returns `true`.
    @inlinable
    public func filter(_ isIncluded: @escaping @Sendable (Output) -> Bool) -> Compaction {
        then { isIncluded($0) ? $0 : nil }
    }

    /// Drops each value that is the same as the one before it.
    @inlinable
    public func removeDuplicates(by areSame: @escaping @Sendable (Output, Output) -> Bool) -> Compaction {
        let make = make
        return Compaction {
            let before = make()
            let last = LoopMemory<Output?>(nil)
            return { input in
                guard let value = before(input) else { return nil }
                if let last = last.value, areSame(last, value) { return nil }
                last.value = value
                return value
            }
        }
    }

    /// Combines each value with the result so far, and passes on each new result.
    @inlinable
    public func scan<Result: Sendable>(
        _ initial: Result, _ next: @escaping @Sendable (Result, Output) -> Result
    ) -> Compaction<Input, Result> {
        let make = make
        return Compaction<Input, Result> {
            let before = make()
            let result = LoopMemory(initial)
            return { input in
                guard let value = before(input) else { return nil }
                let new = next(result.value, value)
                result.value = new
                return new
            }
        }
    }

    /// Drops the first values.
    @inlinable
    public func dropFirst(_ count: Int = 1) -> Compaction {
        let make = make
        return Compaction {
            let before = make()
            let left = LoopMemory(count)
            return { input in
                guard let value = before(input) else { return nil }
                let now = left.value
                guard now > 0 else { return value }
                left.value = now - 1
                return nil
            }
        }
    }
}

extension Compaction where Output: Equatable {
    /// Drops each value that equals the one before it.
    @inlinable
    public func removeDuplicates() -> Compaction { removeDuplicates { $0 == $1 } }
}

extension Compaction where Input == Output {
    /// The empty chain, which passes every value on.
    @inlinable
    static var all: Compaction { Compaction { { $0 } } }
}
