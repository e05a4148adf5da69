public import Synchronization

extension TaskLocal {
    /// Lets events carry the value of this property, from the task that sends an event to the side effects that follow from
    /// it.
    ///
    /// ```swift
    /// enum Request {
    ///     @TaskLocal static var id: String?
    /// }
    /// Request.$id.travelWithEvents()
    ///
    /// Request.$id.withValue("7f3a") { _ = shop.send(.ordered) }
    /// ```
    ///
    /// From then on, the transition, the feedbacks and the side effects of `ordered` see the value `7f3a`. The value goes on
    /// with the events that they send, into other loops and over mediators. The event of a timer or a schedule has the value
    /// of the event that began the wait.
    ///
    /// A value travels no further where other code takes over. An event that a callback of a subscription sends has the value
    /// of the calling thread. An effect that goes on over several states keeps the value of its start. A feedback that is
    /// added to a running loop sees the value of the thread that adds it or takes it over. An observer sees dropped and
    /// withdrawn events with the value of the thread that drops or withdraws them.
    ///
    /// A program calls this function once for each property, when it starts. It applies to all loops of the process, and
    /// cannot be undone. A second call has no effect. Each send then reads all such properties under a lock of the process,
    /// and allocates memory.
    public func travelWithEvents() {
        Baggage.register(ObjectIdentifier(self)) { BoundValue(property: self, value: self.get()) }
    }
}

/// A value of a task-local property.
private protocol Bindable: Sendable {
    func bind(_ body: () -> Void)
    func bind(_ body: @Sendable () async -> Void) async
}

private struct BoundValue<Value: Sendable>: Bindable {
    let property: TaskLocal<Value>
    let value: Value

    func bind(_ body: () -> Void) { property.withValue(value, operation: body) }

    func bind(_ body: @Sendable () async -> Void) async { await property.withValue(value, operation: body) }
}

/// The values of the task-local properties that travel with an event, as its sender had them.
///
/// While no property travels, there is no baggage, and a send only reads ``isInUse``. Otherwise every event that waits has
/// baggage. So an event never sees the values of the thread on which it happens to be taken. Values are not released under
/// the lock of a loop or a mediator, because their release may run other code.
@usableFromInline
package struct Baggage: Sendable {
    /// A Boolean value that indicates whether a property travels.
    @usableFromInline static let isInUse = Atomic<Bool>(false)
    /// The functions that read the properties, in the order of their registration.
    private static let readers = Mutex<[(property: ObjectIdentifier, read: @Sendable () -> any Bindable)]>([])

    /// The values, at least one.
    private let values: [any Bindable]

    fileprivate static func register(_ property: ObjectIdentifier, _ read: @escaping @Sendable () -> any Bindable) {
        readers.withLock { readers in
            guard !readers.contains(where: { $0.property == property }) else { return }
            readers.append((property, read))
        }
        isInUse.store(true, ordering: .relaxed)
    }

    /// The baggage of an event that the caller sends now, or `nil` if no property travels.
    @inlinable static var present: Baggage? { isInUse.load(ordering: .relaxed) ? collect() : nil }

    @usableFromInline
    static func collect() -> Baggage? {
        let readers = readers.withLock { $0 }
        return Baggage(values: readers.map { $0.read() })
    }

    /// Calls a function with the values in place.
    @usableFromInline
    func bind(_ body: () -> Void) { bind(values[...], body) }

    private func bind(_ values: ArraySlice<any Bindable>, _ body: () -> Void) {
        guard let first = values.first else { return body() }
        first.bind { bind(values.dropFirst(), body) }
    }

    /// Calls a function, with values in place if there are any.
    @inlinable
    static func bind(_ baggage: Baggage?, _ body: () -> Void) {
        if let baggage { baggage.bind(body) } else { body() }
    }

    /// Runs a function with the values in place.
    @usableFromInline
    func bind(_ body: @Sendable () async -> Void) async { await bind(values[...], body) }

    private func bind(_ values: ArraySlice<any Bindable>, _ body: @Sendable () async -> Void) async {
        guard let first = values.first else { return await body() }
        await first.bind { await bind(values.dropFirst(), body) }
    }

    /// Returns a function that calls another one with the present values in place, whenever and wherever that is.
    @inlinable
    static func carried(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let baggage = present else { return body }
        return { baggage.bind(body) }
    }
}
