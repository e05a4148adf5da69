/// The reason why a checked expression has no value for the given variables (CEL specification, "Runtime Errors").
public struct EvaluationError: Error, Sendable, Hashable {
    /// The kind of error. It is a structure rather than an enumeration, so that kinds can be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable name of the kind, for machines.
        public let rawValue: String

        /// Creates a kind.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// A result is out of the range of its type ("Overflow").
        public static let overflow = Code(rawValue: "overflow")
        /// Division or remainder by zero.
        public static let divisionByZero = Code(rawValue: "divisionByZero")
        /// The value has no field of this name.
        public static let noSuchField = Code(rawValue: "noSuchField")
        /// The map has no such key.
        public static let noSuchKey = Code(rawValue: "noSuchKey")
        /// A map literal gives a key twice.
        public static let duplicateKey = Code(rawValue: "duplicateKey")
        /// The list has no element at this position.
        public static let indexOutOfRange = Code(rawValue: "indexOutOfRange")
        /// The operator or function does not take values of these types (the specification's `no_matching_overload`).
        public static let noSuchOverload = Code(rawValue: "noSuchOverload")
        /// The value cannot be converted.
        public static let invalidConversion = Code(rawValue: "invalidConversion")
        /// An argument is not one the function accepts.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// `value()` was called on an empty optional value.
        public static let emptyOptional = Code(rawValue: "emptyOptional")
        /// A function of the host failed.
        public static let hostFailure = Code(rawValue: "hostFailure")
        /// No variable has this name. The error occurs only if types were not checked.
        public static let unknownVariable = Code(rawValue: "unknownVariable")
        /// No function has this name. The error occurs only if types were not checked.
        public static let unknownFunction = Code(rawValue: "unknownFunction")
        /// Evaluation needs more steps than the limit.
        public static let costExceeded = Code(rawValue: "costExceeded")
        /// A value would be larger, or nested deeper, than the limit.
        public static let valueTooLarge = Code(rawValue: "valueTooLarge")
    }

    /// The kind of error.
    public let code: Code
    /// The message, with the values involved.
    public let message: String
    /// The part of the source that failed.
    public let range: SourceRange

    /// Creates an error.
    public init(code: Code, message: String, range: SourceRange) {
        self.code = code
        self.message = message
        self.range = range
    }

    /// A Boolean value that indicates whether the error concerns a limit. Such an error ends the evaluation, and
    /// logical operators do not absorb it.
    var isLimit: Bool {
        code == .costExceeded || code == .valueTooLarge
    }
}

extension EvaluationError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
