/// A chain of pure steps from a stream of values to a stream of other values, for the
/// `compacting` feedbacks.
///
///     Feedback(compacting: { $0.map(\.query).removeDuplicates() }) { query in await search(query) }
///
/// It stands where the originals take a function from publisher to publisher. The difference is that its steps are
/// taken on the loop's turn: so a side effect starts in the state that asked for it, and is withdrawn exactly. There
/// are therefore no steps that wait; let the effect wait (``Effect/debounce(id:for:)``), or take
/// ``Feedback/custom(name:buffering:_:)``. What a step remembers, it remembers for one loop.
public struct Compaction<Input: Sendable, Output: Sendable>: Sendable {
    /// One value in, a value or none out.
    @usableFromInline typealias Step = @Sendable (Input) -> Output?

    /// Makes the steps anew for a loop.
    @usableFromInline let make: @Sendable () -> Step

    @inlinable
    init(make: @escaping @Sendable () -> Step) {
        self.make = make
    }

    /// One more step, without memory.
    @inlinable
    func then<Next: Sendable>(_ step: @escaping @Sendable (Output) -> Next?) -> Compaction<Input, Next> {
        let make = make
        return Compaction<Input, Next> {
            let before = make()
            return { input in before(input).flatMap(step) }
        }
    }

    /// Each value becomes another.
    @inlinable
    public func map<Next: Sendable>(_ transform: @escaping @Sendable (Output) -> Next) -> Compaction<Input, Next> {
        then { transform($0) }
    }

    /// Each value becomes another or is left out.
    @inlinable
    public func compactMap<Next: Sendable>(
        _ transform: @escaping @Sendable (Output) -> Next?
    ) -> Compaction<Input, Next> {
        then(transform)
    }

    /// Only values for which this holds.
    @inlinable
    public func filter(_ isIncluded: @escaping @Sendable (Output) -> Bool) -> Compaction {
        then { isIncluded($0) ? $0 : nil }
    }

    /// Leaves out a value that is the same as the one before it.
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

    /// Folds each value into a result, and passes each result on.
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

    /// Leaves out the first values.
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
    /// Leaves out a value that equals the one before it.
    @inlinable
    public func removeDuplicates() -> Compaction { removeDuplicates { $0 == $1 } }
}

extension Compaction where Input == Output {
    /// Every value, as it is: where a chain begins.
    @inlinable
    static var all: Compaction { Compaction { { $0 } } }
}
