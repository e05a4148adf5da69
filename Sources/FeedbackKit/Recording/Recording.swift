/// What happened to a store, or to a system, with the times: enough to have it happen again.
///
/// After Recombine's idea of keeping `[TimeInterval: [SyncAction]]`. It is `Codable`; as JSON:
///
///     {
///       "format": "feedbackkit.recording", "formatVersion": 1, "application": "1.4.2",
///       "initial": { "counter": 0 },
///       "entries": [
///         { "at": 0, "actions": [{ "modify": { "_0": { "increase": {} } } }] },
///         { "at": 1500000000, "actions": […] }
///       ],
///       "isComplete": true, "fingerprint": "…"
///     }
///
/// `at` is the time since the recording began, in whole nanoseconds: exact in JSON, also where numbers are read as
/// floating point, up to 104 days, and up to 292 years where they are read as integers.
///
/// Decoding refuses data that is not a recording, or of another version of the format, and, if the decoder's
/// `userInfo[.applicationVersion]` says which version of the application decodes, recordings made by another one: the
/// types of state and actions may have changed between them. Sensitive data in actions is recorded as it is.
public struct Recording<State: Codable & Sendable, Action: Codable & Sendable>: Codable, Sendable {
    /// A batch of actions, which gave one new state.
    public struct Entry: Codable, Sendable {
        /// When it was taken, in nanoseconds since the beginning of the recording, not negative.
        public var at: Int64
        /// The actions as the reducer saw them.
        public var actions: [Action]

        /// Actions at a time.
        public init(at: Int64, actions: [Action]) {
            self.at = at
            self.actions = actions
        }

        /// When it was taken, since the beginning of the recording.
        public var offset: Duration { .nanoseconds(at) }
    }

    /// The version of the application that made it, as the application names it.
    public var application: String
    /// The state at the beginning; `nil`: the one the store is made with. (`State` is `Never` where states are not
    /// `Codable`.)
    public var initial: State?
    /// What happened, in order.
    public var entries: [Entry]
    /// Whether everything up to the end is in it; `false`: it was full before.
    public var isComplete: Bool
    /// A short text that tells the final state from others, if one was asked for.
    public var fingerprint: String?

    /// A recording made by hand.
    public init(
        application: String, initial: State?, entries: [Entry], isComplete: Bool = true, fingerprint: String? = nil
    ) {
        self.application = application
        self.initial = initial
        self.entries = entries
        self.isComplete = isComplete
        self.fingerprint = fingerprint
    }

    /// How long it is: the time of the last entry.
    public var duration: Duration { entries.last?.offset ?? .zero }

    /// How many actions are in it.
    public var actionCount: Int { entries.reduce(0) { $0 + $1.actions.count } }

    /// Throws if another version of the application made it.
    public func check(application expected: String) throws(RecordingError) {
        try SavedEnvelope.recording.check(application, expected: expected)
    }

    private enum Key: String, CodingKey {
        case initial, entries, isComplete, fingerprint
    }

    /// Decodes a recording; throws a ``RecordingError`` if it is of another version.
    public init(from decoder: any Decoder) throws {
        application = try SavedEnvelope.recording.decode(from: decoder)
        if let expected = decoder.userInfo[.applicationVersion] as? String {
            try SavedEnvelope.recording.check(application, expected: expected)
        }
        let container = try decoder.container(keyedBy: Key.self)
        initial = try container.decodeIfPresent(State.self, forKey: .initial)
        entries = try container.decode([Entry].self, forKey: .entries)
        isComplete = try container.decodeIfPresent(Bool.self, forKey: .isComplete) ?? true
        fingerprint = try container.decodeIfPresent(String.self, forKey: .fingerprint)
        if let index = entries.firstIndex(where: { $0.at < 0 }) {
            throw RecordingError(
                .malformed, "entry \(index) of the recording is at \(entries[index].at) ns, before its beginning")
        }
    }

    /// Encodes the recording.
    public func encode(to encoder: any Encoder) throws {
        try SavedEnvelope.recording.encode(application: application, to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(initial, forKey: .initial)
        try container.encode(entries, forKey: .entries)
        try container.encode(isComplete, forKey: .isComplete)
        try container.encodeIfPresent(fingerprint, forKey: .fingerprint)
    }
}

extension Recording: Equatable where State: Equatable, Action: Equatable {}
extension Recording.Entry: Equatable where Action: Equatable {}

/// What a recording does when it is full.
public enum RecordingOverflow: Sendable, Hashable {
    /// It keeps the beginning and takes no more; ``Recording/isComplete`` is then false.
    case stop
    /// It keeps the end, like a flight recorder: the oldest entries go, and its initial state moves on with them, to one
    /// that was there then. They go together, up to a sixty-fourth of the limit at a time.
    case dropOldest
}
