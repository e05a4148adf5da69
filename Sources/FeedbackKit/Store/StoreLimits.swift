/// The limits of one dispatch. A dispatch that exceeds one ends with a ``StoreFault``.
///
/// The limits stop an async action that yields itself for ever, and a middleware that dispatches its own input. If a
/// dispatch must run without end (polling, for example), set ``depth`` to `.max` or loop within one thunk. Both can be
/// cancelled, and neither stack nor memory grows with the depth.
public struct StoreLimits: Sendable, Hashable {
    /// The maximum length of a chain of actions. Dispatched actions have depth 0, the actions that they yield have
    /// depth 1, and so on. An action that a middleware dispatches also counts.
    public var depth: Int
    /// The maximum number of async actions of one dispatch that wait or run at a time.
    public var outstanding: Int
    /// The maximum number of sync actions that a dispatch with `collect:` gathers. Also the number of sync actions that
    /// a thunk of a dispatch with `serially:` may yield before they are taken.
    public var collected: Int

    /// Creates limits. Each is at least 1; a lower value counts as 1.
    public init(depth: Int = 10_000, outstanding: Int = 100_000, collected: Int = 1_000_000) {
        self.depth = max(1, depth)
        self.outstanding = max(1, outstanding)
        self.collected = max(1, collected)
    }
}

/// The reason why the store ended a dispatch.
public struct StoreFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of a fault.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// Creates a kind with this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A chain of actions was longer than ``StoreLimits/depth``.
        public static let depthExceeded = Code(rawValue: "depthExceeded")
        /// More async actions waited or ran than ``StoreLimits/outstanding``.
        public static let tooManyOutstanding = Code(rawValue: "tooManyOutstanding")
        /// The dispatch gathered more sync actions than ``StoreLimits/collected``.
        public static let tooManyCollected = Code(rawValue: "tooManyCollected")
    }

    /// The kind of the fault.
    public let code: Code
    /// The event, its cause, and the remedy.
    public let message: String

    /// The message.
    public var description: String { message }

    @usableFromInline
    static func depthExceeded(_ action: Any, limit: Int) -> StoreFault {
        StoreFault(
            code: .depthExceeded,
            message: """
                the dispatch was ended: \(brief(action)) came about by more than \(limit) actions each of which \
                led to the next, and StoreLimits.depth is \(limit); let the thunk loop instead of yielding its own action, \
                or raise the limit
                """)
    }

    @usableFromInline
    static func tooManyOutstanding(limit: Int) -> StoreFault {
        StoreFault(
            code: .tooManyOutstanding,
            message: """
                the dispatch was ended: more than \(limit) of its async actions were under way at a time \
                (StoreLimits.outstanding); dispatch them serially, or raise the limit
                """)
    }

    @usableFromInline
    static func tooManyCollected(limit: Int) -> StoreFault {
        StoreFault(
            code: .tooManyCollected,
            message: """
                the dispatch was ended: more than \(limit) of its actions were to be held back \
                (StoreLimits.collected); dispatch without collecting, or raise the limit
                """)
    }

    /// Returns the action as text of bounded length.
    private static func brief(_ action: Any) -> String {
        ValueTree.brief(action, characters: 120)
    }
}
