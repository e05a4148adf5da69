/// How far one dispatch may go before it is ended with a ``StoreFault``.
///
/// The limits keep an async action that yields itself, or a middleware that dispatches what it sees, from going on for
/// ever. A dispatch that is meant to go on for ever (one that polls, say) sets ``depth`` to `.max`, or loops within one
/// thunk; it can be cancelled either way, and neither the stack nor the memory it takes grows with its depth.
public struct StoreLimits: Sendable, Hashable {
    /// How often one action may lead to the next: the actions dispatched have depth 0, what they yield has 1, and so
    /// on; what a middleware dispatches again counts too.
    public var depth: Int
    /// How many async actions of one dispatch may wait or run at a time.
    public var outstanding: Int
    /// How many sync actions a dispatch with `collect:` may gather, and how many a thunk of a dispatch with
    /// `serially:` may yield ahead of what has been taken from it.
    public var collected: Int

    /// Limits; each is at least 1, and a lower one counts as 1.
    public init(depth: Int = 10_000, outstanding: Int = 100_000, collected: Int = 1_000_000) {
        self.depth = max(1, depth)
        self.outstanding = max(1, outstanding)
        self.collected = max(1, collected)
    }
}

/// Why a dispatch was ended by the store.
public struct StoreFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of fault it is.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// A kind of this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An action led to another more often than ``StoreLimits/depth``.
        public static let depthExceeded = Code(rawValue: "depthExceeded")
        /// More async actions were under way than ``StoreLimits/outstanding``.
        public static let tooManyOutstanding = Code(rawValue: "tooManyOutstanding")
        /// More sync actions were gathered than ``StoreLimits/collected``.
        public static let tooManyCollected = Code(rawValue: "tooManyCollected")
    }

    /// What kind of fault it is.
    public let code: Code
    /// What happened, why, and what to do.
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

    /// The action as text, cut to a bounded length.
    private static func brief(_ action: Any) -> String {
        ValueTree.brief(action, characters: 120)
    }
}
