/// Something about a side effect that is not as ``MediatorHost/EffectImplementation`` asks for.
public struct EffectFlaw: Sendable, Hashable, CustomStringConvertible {
    /// A rule for side effects.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// Its schema can be used by a configuration.
        case schema
        /// The check gives it what its schema wants. A mistake of the check, not of the side effect.
        case arguments
        /// It reports only outcomes of its schema, of their types, and none after it has ended.
        case outcomes
        /// It ends by itself in time, unless its schema says that it lasts: then it does not.
        case ending
        /// It ends soon when it is cancelled, even if that is before it began.
        case cancellation
        /// When it has ended, no descriptor, child process or thread is left of it.
        case remains
        /// Runs one after the other cost no memory.
        case growth
        /// Two at a time do as one does.
        case concurrency
        /// Its memory can be ended, also twice, and it runs again afterwards.
        case shutDown
    }

    /// The broken rule.
    public let rule: Rule
    /// The observation.
    public let message: String

    /// The rule and the observation.
    public var description: String { "\(rule.rawValue): \(message)" }
}
