/// Bindings read what was published last; writing emits an event, and the state changes if the system says so. They do
/// not keep the system alive: when it is gone they read on, and what is written is dropped.
extension UISystem {
    /// A binding that only reads; what is written is dropped.
    public func binding<Output>(get: @escaping @Sendable (PublishedState) -> Output) -> Binding<Output> {
        let publication = publication
        return Binding(get: { get(publication.state) }, set: { _ in })
    }

    /// A binding; writing emits an event made from the value.
    public func binding<Output>(
        get: @escaping @Sendable (PublishedState) -> Output,
        emit event: @escaping @Sendable (Output) -> any Event
    ) -> Binding<Output> {
        let publication = publication
        return Binding(
            get: { get(publication.state) }, set: { [weak system] value in system?.send(event(value)) })
    }

    /// A binding; writing emits an event that is always the same.
    public func binding<Output>(
        get: @escaping @Sendable (PublishedState) -> Output, emit event: any Event
    ) -> Binding<Output> {
        binding(get: get, emit: { _ in event })
    }

    /// A binding to a property that only reads; what is written is dropped.
    public func binding<Output>(keyPath: any KeyPath<PublishedState, Output> & Sendable) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] })
    }

    /// A binding to a property; writing emits an event made from the value.
    public func binding<Output>(
        keyPath: any KeyPath<PublishedState, Output> & Sendable,
        emit event: @escaping @Sendable (Output) -> any Event
    ) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] }, emit: event)
    }

    /// A binding to a property; writing emits an event that is always the same.
    public func binding<Output>(
        keyPath: any KeyPath<PublishedState, Output> & Sendable, emit event: any Event
    ) -> Binding<Output> {
        binding(get: { $0[keyPath: keyPath] }, emit: { _ in event })
    }
}
