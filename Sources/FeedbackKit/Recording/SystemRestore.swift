/// The state of a ``System``, saved with its type's identity. Decoding one requires a ``StateCodec`` in the decoder's
/// `userInfo[.stateCodec]`.
public typealias SavedSystemState = Saved<CodedState>

extension System {
    /// Returns the current state for saving.
    ///
    /// Throws a ``RecordingError`` that names the type if the codec does not contain it.
    public func saved(states: StateCodec, application: String = "") throws(RecordingError) -> SavedSystemState {
        Saved(try CodedState(state, codec: states), application: application)
    }

    /// Creates a system that continues from a saved state instead of its own initial one. Feedbacks receive the saved
    /// state as the first one and start their side effects for it. Side effects that ran, and events that waited, at
    /// the time of saving are not restored.
    public convenience init(
        restoring saved: SavedSystemState,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        @SystemBuilder _ parts: () -> SystemParts
    ) {
        let parts = parts()
        self.init(clock: clock, mailboxLimit: mailboxLimit, overflow: overflow) {
            return SystemParts(
                initialState: InitialState { saved.state.state }, feedbacks: parts.feedbacks,
                transitions: parts.transitions)
        }
    }
}
