/// A state prepared for rendering, which a ``UISystem`` publishes if it maps the states of its system.
///
///     enum FeatureViewState: ViewState {
///         case undefined
///         case displayLoading
///         case displayData(data: Data)
///     }
public protocol ViewState: State, Equatable {
    /// The value published before the first state has been mapped.
    static var undefined: Self { get }
}

/// An unchanged state, which a ``UISystem`` publishes if it does not map the states of its system.
public struct RawState: State {
    /// The state of the system.
    public let state: any State

    /// Wraps a state.
    public init(state: any State) {
        self.state = state
    }
}
