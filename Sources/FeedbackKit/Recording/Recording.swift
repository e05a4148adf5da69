/// A recording of a store or a system with times, sufficient to replay it.
///
/// Corresponds to Recombine's idea of keeping `[TimeInterval: [SyncAction]]`. It is `Codable`; as JSON:
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
/// `at` is the time since the start of the recording in whole nanoseconds. If the reader treats JSON numbers as
/// floating point, it is exact up to 104 days; as integers, up to 292 years.
///
/// Decoding throws an error for data that is not a recording or has another format version. If the decoder's
/// `userInfo[.applicationVersion]` holds the version of the decoding application, it also refuses recordings of any
/// other version, because the types of state and actions may have changed. Sensitive data in actions is recorded
/// unchanged.
public struct Recording<State: Codable & Sendable, Action: Codable & Sendable>: Codable, Sendable {
    /// A batch of actions, which produced one new state.
    public struct Entry: Codable, Sendable {
        /// The time of the batch in nanoseconds since the start of the recording, not negative.
        public var at: Int64
        /// The actions as the reducer received them.
        public var actions: [Action]

        /// Creates an entry.
        public init(at: Int64, actions: [Action]) {
            self.at = at
            self.actions = actions
        }

        /// The time of the batch since the start of the recording.
        public var offset: Duration { .nanoseconds(at) }
    }

    /// The version of the application that made the recording, in the application's own notation.
    public var application: String
    /// The first state; `nil` stands for the state with which the store is created. (`State` is `Never` if states are
    /// not `Codable`.)
    public var initial: State?
    /// The batches, in order.
    public var entries: [Entry]
    /// A Boolean value that indicates whether the recording reaches its end; `false` if it was full before.
    public var isComplete: Bool
    /// A short text that identifies the final state, if requested.
    public var fingerprint: String?

    /// Creates a recording from its parts.
    public init(
        application: String, initial: State?, entries: [Entry], isComplete: Bool = true, fingerprint: String? = nil
    ) {
        self.application = application
        self.initial = initial
        self.entries = entries
        self.isComplete = isComplete
        self.fingerprint = fingerprint
    }

    /// The time of the last entry.
    public var duration: Duration { entries.last?.offset ?? .zero }

    /// The number of actions in the recording.
    public var actionCount: Int { entries.reduce(0) { $0 + $1.actions.count } }

    /// Throws an error if another version of the application made the recording.
    public func check(application expected: String) throws(RecordingError) {
        try SavedEnvelope.recording.check(application, expected: expected)
    }

    private enum Key: String, CodingKey {
        case initial, entries, isComplete, fingerprint
    }

    /// Decodes a recording; throws a ``RecordingError`` if its version differs.
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

/// The rule for a full recording.
public enum RecordingOverflow: Sendable, Hashable {
    /// The recording keeps its beginning and accepts no more; ``Recording/isComplete`` is then `false`.
    case stop
    /// The recording keeps its end, like a flight recorder. It drops the oldest entries, up to one sixty-fourth of the
    /// limit at a time, and moves its initial state to a state from that point.
    case dropOldest
}
