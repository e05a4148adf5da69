/// Why something saved cannot be used, or cannot be saved.
public struct RecordingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// A kind of this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The data is not what it should be at all.
        public static let wrongFormat = Code(rawValue: "wrongFormat")
        /// The data is written in another version of the format.
        public static let wrongFormatVersion = Code(rawValue: "wrongFormatVersion")
        /// The data was written by another version of the application.
        public static let wrongApplicationVersion = Code(rawValue: "wrongApplicationVersion")
        /// A value in the data is out of range.
        public static let malformed = Code(rawValue: "malformed")
        /// A type of event or state is not in the codec.
        public static let unknownType = Code(rawValue: "unknownType")
        /// The decoder was not given the codec it needs.
        public static let missingCodec = Code(rawValue: "missingCodec")
        /// There is no state to begin with.
        public static let missingInitialState = Code(rawValue: "missingInitialState")
        /// The pace is not a positive number.
        public static let invalidPace = Code(rawValue: "invalidPace")
    }

    /// What kind of error it is.
    public let code: Code
    /// What is wrong, why, and what to do.
    public let message: String

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
