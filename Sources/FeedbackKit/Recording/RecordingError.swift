/// An error in loading or saving a recording or a state.
public struct RecordingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// Creates a kind with this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The data has a different format.
        public static let wrongFormat = Code(rawValue: "wrongFormat")
        /// The data has a different version of the format.
        public static let wrongFormatVersion = Code(rawValue: "wrongFormatVersion")
        /// Another version of the application wrote the data.
        public static let wrongApplicationVersion = Code(rawValue: "wrongApplicationVersion")
        /// A value in the data is out of range.
        public static let malformed = Code(rawValue: "malformed")
        /// The codec does not contain a type of event or state.
        public static let unknownType = Code(rawValue: "unknownType")
        /// The decoder has no codec.
        public static let missingCodec = Code(rawValue: "missingCodec")
        /// The recording has no initial state.
        public static let missingInitialState = Code(rawValue: "missingInitialState")
        /// The pace is not a positive number.
        public static let invalidPace = Code(rawValue: "invalidPace")
    }

    /// The kind of the error.
    public let code: Code
    /// The problem, its cause, and the remedy.
    public let message: String

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
