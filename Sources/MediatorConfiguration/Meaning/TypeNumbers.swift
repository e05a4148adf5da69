import CommonExpression
import Synchronization

/// Numbers for types, the same for equal ones in all parts of a compilation.
final class TypeNumbers: Sendable {
    private let numbers = Mutex<[ValueType: (number: Int32, type: ValueType)]>([:])
    /// The number of types that have a number.
    var count: Int { numbers.withLock { $0.count } }

    /// The number of a type, and the first of those equal to it.
    func number(of type: ValueType) -> (number: Int32, type: ValueType) {
        numbers.withLock { numbers in
            if let known = numbers[type] { return known }
            let new = (number: Int32(truncatingIfNeeded: numbers.count), type: type)
            numbers[type] = new
            return new
        }
    }
}
