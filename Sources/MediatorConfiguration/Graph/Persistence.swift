/// The part of a system that survives the end of the process, whatever ends it.
public enum Persistence: String, Sendable, Hashable, CaseIterable {
    /// Nothing.
    case none
    /// The state with its data. A new state is on the disk before it takes effect.
    case state
}
