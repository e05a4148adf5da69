public import CommonExpression

/// A pause of a system, with its beginning and its user.
public struct Pause: Sendable, Hashable {
    /// The beginning of the pause.
    public let since: Timestamp
    /// The ID of the user who asked for the pause.
    public let user: UInt32
    /// The name of that user, if it is known.
    public let userName: String?
    /// The reason with the remedy as a clause, if it is known.
    public let reason: String?

    /// Creates a pause that a user has asked for.
    public init(since: Timestamp, user: UInt32, userName: String?, reason: String? = nil) {
        self.since = since
        self.user = user
        self.userName = userName
        self.reason = reason
    }

    /// The user in readable form: `alice` or `user 1000`.
    public var by: String { userName ?? "user \(user)" }

    /// The health of a paused system in words: `paused by alice`, with the reason.
    var text: String { "paused by \(by)" + (reason.map { ": \($0)" } ?? "") }
}

extension Host {
    /// Pauses a system, which takes no event and begins no side effect until it is resumed, restarted, or replaced by a
    /// new configuration.
    ///
    /// The mailbox still limits the number of waiting events. A system that is paused already keeps the pause of the
    /// first user.
    ///
    /// - Returns: `false` if it was paused already.
    /// - Throws: `HostError` if the system is unknown or does not run.
    @discardableResult
    public func pause(_ name: String, by user: UInt32, named userName: String?) throws(HostError) -> Bool {
        let system = try named(name)
        guard let isNews = system.pause(Pause(since: time.now(), user: user, userName: userName)) else {
            throw Self.refusal(by: system)
        }
        return isNews
    }

    /// Resumes a paused system.
    ///
    /// - Parameters:
    ///   - user: The ID of the user who asks, or `nil` for the program itself.
    ///   - userName: The name of that user, if it is known.
    ///   - begins: A function that is called if the system was paused, before it takes an event. It may log the end of
    ///     the pause.
    /// - Returns: `false` if it was not paused.
    /// - Throws: `HostError` if the system is unknown or has ended because of a fault.
    @discardableResult
    public func resume(
        _ name: String, by user: UInt32? = nil, named userName: String? = nil, begins: () -> Void = {}
    ) throws(HostError) -> Bool {
        let system = try named(name)
        if system.resume(by: userName ?? user.map { "user \($0)" } ?? "the program", begins: begins) { return true }
        // A system that has ended is not paused and cannot be resumed.
        if system.phase == .givenUp { throw Self.refusal(by: system) }
        return false
    }
}
