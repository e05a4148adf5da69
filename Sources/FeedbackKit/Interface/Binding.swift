#if canImport(SwiftUI)
public import SwiftUI

/// SwiftUI's own.
public typealias Binding = SwiftUI.Binding
#else
/// A value that is read and written somewhere else: what a text field or a slider is given.
///
/// It has the meaning of SwiftUI's `Binding`, for platforms that lack it. It may be used from any thread, as far as the
/// two functions it is made of may.
@propertyWrapper
@dynamicMemberLookup
public struct Binding<Value>: Sendable {
    private let get: @Sendable () -> Value
    private let set: @Sendable (Value) -> Void

    /// A binding that reads by one function and writes by the other.
    public init(get: @escaping @Sendable () -> Value, set: @escaping @Sendable (Value) -> Void) {
        self.get = get
        self.set = set
    }

    /// The value. Setting it writes it to where it is kept; whether it can then be read back is decided there.
    public var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }

    /// The binding itself: what `$value` stands for.
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
    /// A binding to a value that never changes; what is written is dropped.
    public static func constant(_ value: Value) -> Binding {
        Binding(get: { value }, set: { _ in })
    }
}
#endif
