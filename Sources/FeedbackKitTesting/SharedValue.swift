import Synchronization

/// A value that several threads read and change.
package final class SharedValue<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    /// Holds this value.
    package init(_ value: Value) {
        storage = Mutex(value)
    }

    /// A copy of it.
    package var value: Value { storage.withLock { $0 } }

    /// Changes it under the lock; `change` must call nobody, and release nothing that is not the library's own: what it
    /// replaces, it answers with.
    package func with<R: Sendable>(_ change: (inout Value) -> R) -> R {
        storage.withLock { change(&$0) }
    }
}
