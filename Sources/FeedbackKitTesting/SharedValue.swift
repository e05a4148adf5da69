import Synchronization

/// A value shared by several threads.
package final class SharedValue<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    /// Creates a shared value.
    package init(_ value: Value) {
        storage = Mutex(value)
    }

    /// A copy of the value.
    package var value: Value { storage.withLock { $0 } }

    /// Changes the value under the lock. `change` must not call other code and must return every foreign value that it
    /// replaces, so that nothing is released under the lock.
    package func with<R: Sendable>(_ change: (inout Value) -> R) -> R {
        storage.withLock { change(&$0) }
    }
}
