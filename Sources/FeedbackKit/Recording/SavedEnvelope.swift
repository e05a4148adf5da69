/// The header of all saved data: the kind of data, the version of its format, and the version of the application.
///
/// It is checked before anything else is decoded. So data of another version causes an error about the version, and not
/// about some field.
struct SavedEnvelope {
    static let currentVersion = 1

    /// The keys that all saved data has in common.
    enum Key: String, CodingKey {
        case format, formatVersion, application
    }

    /// The kind of the data in the header: `feedbackkit.recording`.
    let format: String
    /// The kind of the data in messages.
    let noun: String

    static let recording = SavedEnvelope(format: "feedbackkit.recording", noun: "recording")
    static let state = SavedEnvelope(format: "feedbackkit.state", noun: "saved state")

    /// Writes the header.
    func encode(application: String, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(format, forKey: .format)
        try container.encode(Self.currentVersion, forKey: .formatVersion)
        try container.encode(application, forKey: .application)
    }

    /// Reads the header and checks the format. Returns the version of the application that wrote it.
    func decode(from decoder: any Decoder) throws -> String {
        let container = try decoder.container(keyedBy: Key.self)
        let format = try? container.decode(String.self, forKey: .format)
        guard format == self.format else {
            let found = format.map { "its format is \"\($0.prefix(60))\"" } ?? "it names no format"
            throw RecordingError(
                .wrongFormat, "this is not a \(noun): \(found), and it must be \"\(self.format)\"; check the file")
        }
        let version = try container.decode(Int.self, forKey: .formatVersion)
        guard version == Self.currentVersion else {
            let advice =
                version > Self.currentVersion
                ? "read it with the FeedbackKit that wrote it, or a newer one"
                : "write it again with this FeedbackKit"
            throw RecordingError(
                .wrongFormatVersion,
                """
                the \(noun) is in version \(version) of the format \(self.format), and this FeedbackKit reads \
                version \(Self.currentVersion); \(advice)
                """)
        }
        return try container.decode(String.self, forKey: .application)
    }

    /// Throws an error if another version of the application wrote the data.
    func check(_ application: String, expected: String) throws(RecordingError) {
        if application != expected { throw mismatch(application, expected: expected) }
    }

    /// Returns the error for an unexpected version of the application.
    func mismatch(_ application: String, expected: String) -> RecordingError {
        let advice =
            format == Self.state.format
            ? "give the decoder a SavedMigration for the old version, or start without it"
            : "replay it with version \"\(application.prefix(60))\", or record it again"
        return RecordingError(
            .wrongApplicationVersion,
            """
            the \(noun) was made by version "\(application.prefix(60))" of the application, and this is version \
            "\(expected.prefix(60))"; \(advice)
            """)
    }
}

extension CodingUserInfoKey {
    /// The version of the decoding application, a `String`. With it, recordings and saved states of other versions are
    /// refused; without it, any version is accepted.
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
