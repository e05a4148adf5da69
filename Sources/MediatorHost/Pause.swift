public import CommonExpression

/// That a system is paused: since when, and on whose behalf.
public struct Pause: Sendable, Hashable {
    /// Since when.
    public let since: Timestamp
    /// Who asked for it.
    public let user: UInt32
    /// The name of that user, if it is known.
    public let userName: String?

    /// A pause.
    public init(since: Timestamp, user: UInt32, userName: String?) {
        self.since = since
        self.user = user
        self.userName = userName
    }

    /// Who asked for it, for people: `alice`, or `user 1000`.
    public var by: String { userName ?? "user \(user)" }
}

extension Host {
    /// Pauses a system: it takes no event, and begins no side effect, until it is resumed, restarted, or replaced by a new
    /// configuration. What waits for it is bounded by its mailbox, as ever. One that is paused already stays so, on behalf of
    /// who paused it first.
    ///
    /// - Returns: `false` if it was paused already.
    @discardableResult
    public func pause(_ name: String, by user: UInt32, named userName: String?) throws(HostError) -> Bool {
        let system = try named(name)
        guard let isNews = system.pause(Pause(since: time.now(), user: user, userName: userName)) else {
            throw Self.refusal(by: system)
        }
        return isNews
    }

    /// Lets a system go on that was paused.
    ///
    /// - Parameters:
    ///   - user: on whose behalf; nil: on the program's own.
    ///   - userName: the name of that user, if it is known.
    ///   - begins: called if it was paused, before it takes an event: such as to log that.
    /// - Returns: `false` if it was not paused.
    /// - Throws: `HostError` if there is none, or it has ended on account of a fault.
    @discardableResult
    public func resume(
        _ name: String, by user: UInt32? = nil, named userName: String? = nil, begins: () -> Void = {}
    ) throws(HostError) -> Bool {
        let system = try named(name)
        if system.resume(by: userName ?? user.map { "user \($0)" } ?? "the program", begins: begins) { return true }
        // One that has ended is not paused, and does not go on either.
        if system.phase == .givenUp { throw Self.refusal(by: system) }
        return false
    }
}
