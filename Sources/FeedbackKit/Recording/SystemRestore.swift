/// The state of a ``System``, saved with its type's identity. Decoding one needs a ``StateCodec`` in the decoder's
/// `userInfo[.stateCodec]`.
public typealias SavedSystemState = Saved<CodedState>

extension System {
    /// The current state, to be saved.
    ///
    /// Throws a ``RecordingError`` that names the type if the codec does not know it.
    public func saved(states: StateCodec, application: String = "") throws(RecordingError) -> SavedSystemState {
        Saved(try CodedState(state, codec: states), application: application)
    }

    /// Builds a system that goes on from a saved state instead of its own initial one. It is otherwise as its parts
    /// say: feedbacks see the saved state as the first one, and start what they would start for it. Side effects
    /// that ran when the state was saved, and events that waited, are not part of it.
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
