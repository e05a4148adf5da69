#if canImport(SwiftUI)
public import SwiftUI

/// SwiftUI's own.
public typealias Binding = SwiftUI.Binding
#else
/// A two-way connection to a value that is stored elsewhere, for controls such as a text field or a slider.
///
/// It has the meaning of SwiftUI's `Binding`, for platforms without SwiftUI. You may use it from any thread if its two
/// functions allow that.
@propertyWrapper
@dynamicMemberLookup
public struct Binding<Value>: Sendable {
    private let get: @Sendable () -> Value
    private let set: @Sendable (Value) -> Void

    /// Creates a binding from a function that reads and a function that writes.
    public init(get: @escaping @Sendable () -> Value, set: @escaping @Sendable (Value) -> Void) {
        self.get = get
        self.set = set
    }

    /// The value. Setting it calls the write function; the owner of the value decides whether the change takes effect.
    public var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }

    /// The binding itself, which `$value` returns.
    public var projectedValue: Binding { self }

    /// A binding to a part of the value. Setting the part reads the value, changes it, and writes it back.
    public subscript<Part>(dynamicMember path: any WritableKeyPath<Value, Part> & Sendable) -> Binding<Part> {
        Binding<Part>(
            get: { get()[keyPath: path] },
            set: { part in
                var value = get()
                value[keyPath: path] = part
                set(value)
            })
    }
}

extension Binding where Value: Sendable {
    /// Creates a binding to a constant value; writes have no effect.
    public static func constant(_ value: Value) -> Binding {
        Binding(get: { value }, set: { _ in })
    }
}
#endif
