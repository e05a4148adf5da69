/// What stands first in everything that is saved: what it is, in which version of the format, by whom.
///
/// It is checked before anything else is decoded, so that data from another version gives an error that says so, and
/// not one about some field.
struct SavedEnvelope {
    static let currentVersion = 1

    /// The keys that all saved things share.
    enum Key: String, CodingKey {
        case format, formatVersion, application
    }

    /// What kind of thing it is, as in the data: `feedbackkit.recording`.
    let format: String
    /// What it is, in messages.
    let noun: String

    static let recording = SavedEnvelope(format: "feedbackkit.recording", noun: "recording")
    static let state = SavedEnvelope(format: "feedbackkit.state", noun: "saved state")

    /// Writes the envelope.
    func encode(application: String, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(format, forKey: .format)
        try container.encode(Self.currentVersion, forKey: .formatVersion)
        try container.encode(application, forKey: .application)
    }

    /// Reads the envelope and checks its format; answers with the version of the application that wrote it.
    func decode(from decoder: any Decoder) throws -> String {
        let container = try decoder.container(keyedBy: Key.self)
        let format = try? container.decode(String.self, forKey: .format)
        guard format == self.format else {
            let found = format.map { "its format is \"\($0.prefix(60))\"" } ?? "it does not say its format"
            throw RecordingError(
                .wrongFormat, "this is not a \(noun): \(found), and it must be \"\(self.format)\"; check the file")
        }
        let version = try container.decode(Int.self, forKey: .formatVersion)
        guard version == Self.currentVersion else {
            let advice =
                version > Self.currentVersion
                ? "read it with the FeedbackKit that wrote it, or a newer one"
                : "write it anew with this FeedbackKit"
            throw RecordingError(
                .wrongFormatVersion,
                """
                the \(noun) is in version \(version) of the format \(self.format), and this FeedbackKit reads \
                version \(Self.currentVersion); \(advice)
                """)
        }
        return try container.decode(String.self, forKey: .application)
    }

    /// The error if the application that wrote it is not the expected one.
    func check(_ application: String, expected: String) throws(RecordingError) {
        if application != expected { throw mismatch(application, expected: expected) }
    }

    /// The error for a version of the application that is not the expected one.
    func mismatch(_ application: String, expected: String) -> RecordingError {
        let advice =
            format == Self.state.format
            ? "give the decoder a SavedMigration for the old version, or start anew"
            : "replay it with version \"\(application.prefix(60))\", or record it anew"
        return RecordingError(
            .wrongApplicationVersion,
            """
            the \(noun) was made by version "\(application.prefix(60))" of the application, and this is version \
            "\(expected.prefix(60))"; \(advice)
            """)
    }
}

extension CodingUserInfoKey {
    /// The version of the application that decodes, a `String`: a recording or a saved state of another one is refused.
    /// Without it any version is accepted.
    public static let applicationVersion = key("feedbackkit.applicationVersion")
    /// The ``EventCodec`` for the events of a ``System``.
    public static let eventCodec = key("feedbackkit.eventCodec")
    /// The ``StateCodec`` for the states of a ``System``.
    public static let stateCodec = key("feedbackkit.stateCodec")
    /// A ``SavedMigration`` for saved states of other versions.
    public static let savedMigration = key("feedbackkit.savedMigration")

    private static func key(_ name: String) -> CodingUserInfoKey {
        guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("\(name) is no key") }
        return key
    }
}
