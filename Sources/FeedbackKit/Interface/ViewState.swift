/// What a ``UISystem`` publishes when the states of its system are mapped for rendering.
///
///     enum FeatureViewState: ViewState {
///         case undefined
///         case displayLoading
///         case displayData(data: Data)
///     }
public protocol ViewState: State, Equatable {
    /// What is published before the first state of the system has been mapped.
    static var undefined: Self { get }
}

/// What a ``UISystem`` publishes when the states of its system are not mapped.
public struct RawState: State {
    /// The state of the system.
    public let state: any State

    /// Wraps a state.
    public init(state: any State) {
        self.state = state
    }
}
