/// Bindings read the last published state. Writing emits an event, and the system decides whether the state changes.
/// Bindings do not keep the system alive. When it is gone, they keep their last value, and writes have no effect.
extension UISystem {
    /// Returns a read-only binding; writes have no effect.
    public func binding<Output>(get: @escaping @Sendable (PublishedState) -> Output) -> Binding<Output> {
        let publication = publication
        return Binding(get: { get(publication.state) }, set: { _ in })
    }

    /// Returns a binding. Writing emits an event made from the new value.
    public func binding<Output>(
        get: @escaping @Sendable (PublishedState) -> Output,
        emit event: @escaping @Sendable (Output) -> any Event
    ) -> Binding<Output> {
        let publication = publication
        return Binding(
            get: { get(publication.state) }, set: { [weak system] value in system?.send(event(value)) })
    }

    /// Returns a binding. Writing always emits the same event.
    public func binding<Output>(
        get: @escaping @Sendable (PublishedState) -> Output, emit event: any Event
    ) -> Binding<Output> {
        binding(get: get, emit: { _ in event })
    }

    /// Returns a read-only binding to a property; writes have no effect.
    public func binding<Output>(keyPath: any KeyPath<PublishedState, Output> & Sendable) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] })
    }

    /// Returns a binding to a property. Writing emits an event made from the new value.
    public func binding<Output>(
        keyPath: any KeyPath<PublishedState, Output> & Sendable,
        emit event: @escaping @Sendable (Output) -> any Event
    ) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] }, emit: event)
    }

    /// Returns a binding to a property. Writing always emits the same event.
    public func binding<Output>(
        keyPath: any KeyPath<PublishedState, Output> & Sendable, emit event: any Event
    ) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] }, emit: { _ in event })
    }
}
