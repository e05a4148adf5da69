/// A state together with what is needed to know whether it can be read: the format's version and the application's.
///
/// As JSON: `{ "format": "feedbackkit.state", "formatVersion": 1, "application": "1.4.2", "state": … }`.
///
/// Decoding refuses data that is not a saved state, or of another version of the format. If the decoder's
/// `userInfo[.applicationVersion]` says which version of the application decodes, a state saved by another one is given
/// to the ``SavedMigration`` in `userInfo[.savedMigration]`, and refused if there is none.
public struct Saved<State: Codable & Sendable>: Codable, Sendable {
    /// The version of the application that saved it, as the application names it. A migrated state has the version of
    /// the application that migrated it.
    public var application: String
    /// The state.
    public var state: State

    /// A state to save.
    public init(_ state: State, application: String = "") {
        self.state = state
        self.application = application
    }

    private enum Key: String, CodingKey {
        case state
    }

    /// Decodes a state; throws a ``RecordingError`` if it is of another version and cannot be migrated.
    public init(from decoder: any Decoder) throws {
        let writer = try SavedEnvelope.state.decode(from: decoder)
        let container = try decoder.container(keyedBy: Key.self)
        guard let reader = decoder.userInfo[.applicationVersion] as? String, reader != writer else {
            application = writer
            state = try container.decode(State.self, forKey: .state)
            return
        }
        let migration = decoder.userInfo[.savedMigration] as? SavedMigration<State>
        guard let migrated = try migration?.migrate(writer, container.superDecoder(forKey: .state)) else {
            throw SavedEnvelope.state.mismatch(writer, expected: reader)
        }
        application = reader
        state = migrated
    }

    /// Encodes the state.
    public func encode(to encoder: any Encoder) throws {
        try SavedEnvelope.state.encode(application: application, to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
    }
}

extension Saved: Equatable where State: Equatable {}

/// Reads states that other versions of the application have saved.
///
///     decoder.userInfo[.savedMigration] = SavedMigration<Settings> { version, decoder in
///         version == "1.0" ? Settings(try OldSettings(from: decoder)) : nil
///     }
public struct SavedMigration<State: Codable & Sendable>: Sendable {
    let migrate: @Sendable (String, any Decoder) throws -> State?

    /// Asks a function for the state: it gets the version that saved the state, and the state's decoder; it answers
    /// `nil` for a version it cannot read.
    public init(_ migrate: @escaping @Sendable (_ version: String, _ state: any Decoder) throws -> State?) {
        self.migrate = migrate
    }
}

extension BaseStore where State: Codable {
    /// The current state, to be saved. A store made with `state: saved.state` goes on from it.
    public func saved(application: String = "") -> Saved<State> { Saved(state, application: application) }
}
