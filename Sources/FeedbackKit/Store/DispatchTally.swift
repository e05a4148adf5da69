/// The combined answer to several actions.
@usableFromInline
struct DispatchTally {
    /// The first refusal, if any.
    @usableFromInline var result = DispatchResult.accepted
    @usableFromInline var accepted = 0

    @inlinable
    init() {}

    /// A Boolean value that indicates whether there were actions and none was accepted.
    @inlinable var isRefused: Bool { accepted == 0 && result != .accepted }

    @inlinable
    mutating func note(_ sent: DispatchResult) {
        if sent == .accepted { accepted += 1 } else if result == .accepted { result = sent }
    }
}
