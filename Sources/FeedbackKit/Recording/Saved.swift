/// A saved state with the versions of its format and its application.
///
/// As JSON: `{ "format": "feedbackkit.state", "formatVersion": 1, "application": "1.4.2", "state": … }`.
///
/// Decoding throws an error for data that is not a saved state or has another format version. The decoder's
/// `userInfo[.applicationVersion]` may hold the version of the decoding application. A state of any other version then
/// goes to the ``SavedMigration`` in `userInfo[.savedMigration]`; without a migration, decoding throws.
public struct Saved<State: Codable & Sendable>: Codable, Sendable {
    /// The version of the application that saved the state, in the application's own notation. A migrated state has the
    /// version of the application that migrated it.
    public var application: String
    /// The state.
    public var state: State

    /// Wraps a state for saving.
    public init(_ state: State, application: String = "") {
        self.state = state
        self.application = application
    }

    private enum Key: String, CodingKey {
        case state
    }

    /// Decodes a state; throws a ``RecordingError`` if its version differs and no migration applies.
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

/// A migration for states that other versions of the application have saved.
///
///     decoder.userInfo[.savedMigration] = SavedMigration<Settings> { version, decoder in
///         version == "1.0" ? Settings(try OldSettings(from: decoder)) : nil
///     }
public struct SavedMigration<State: Codable & Sendable>: Sendable {
    let migrate: @Sendable (String, any Decoder) throws -> State?

    /// Creates a migration from a function of the saved state's version and decoder. It returns `nil` for a version
    /// that it cannot read.
    public init(_ migrate: @escaping @Sendable (_ version: String, _ state: any Decoder) throws -> State?) {
        self.migrate = migrate
    }
}

extension BaseStore where State: Codable {
    /// Returns the current state for saving. To restore it, create a store with `state: saved.state`.
    public func saved(application: String = "") -> Saved<State> { Saved(state, application: application) }
}
