extension Diagnostic {
    /// A sort of mistake. There may be new codes; the meaning of a code never changes.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The code as it is printed: lower-case words joined by hyphens.
        public let rawValue: String
        /// A code of this text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code as it is printed.
        public var description: String { rawValue }

        // Files

        /// A file or directory is missing, of the wrong sort, or not readable.
        public static let unreadable = Code(rawValue: "unreadable")
        /// A file, or the number of files, nodes, states, events or rules, exceeds its limit.
        public static let tooLarge = Code(rawValue: "too-large")
        /// Lists and mappings lie too deep in each other.
        public static let tooDeep = Code(rawValue: "too-deep")
        /// A file has more mistakes than are reported.
        public static let tooManyDiagnostics = Code(rawValue: "too-many-diagnostics")
        /// A file is not UTF-8, or has characters that YAML does not allow.
        public static let encoding = Code(rawValue: "encoding")
        /// There is no file of a configuration, or none that holds anything (a warning).
        public static let noFiles = Code(rawValue: "no-files")

        /// A drop-in without a file that it changes (a warning).
        public static let unusedDropIn = Code(rawValue: "unused-drop-in")
        /// A drop-in removes something that does not exist (a warning).
        public static let nothingToRemove = Code(rawValue: "nothing-to-remove")

        // YAML

        /// A document is not YAML.
        public static let syntax = Code(rawValue: "syntax")
        /// A tab where YAML wants spaces.
        public static let tab = Code(rawValue: "tab")
        /// A key stands twice in one mapping.
        public static let duplicateKey = Code(rawValue: "duplicate-key")
        /// `<<`, which YAML 1.2 does not know.
        public static let mergeKey = Code(rawValue: "merge-key")
        /// An explicit tag such as `!!str`.
        public static let tag = Code(rawValue: "tag")
        /// An alias without its anchor, or within it.
        public static let alias = Code(rawValue: "alias")

        // Shape

        /// A list where a mapping should be, or the like.
        public static let wrongShape = Code(rawValue: "wrong-shape")
        /// A key that has no meaning where it stands.
        public static let unknownKey = Code(rawValue: "unknown-key")
        /// A key that must be there.
        public static let missingKey = Code(rawValue: "missing-key")
        /// Keys that exclude each other.
        public static let conflictingKeys = Code(rawValue: "conflicting-keys")
        /// A list or mapping that needs at least one entry.
        public static let empty = Code(rawValue: "empty")
        /// A name with characters, or of a length, that names may not have.
        public static let invalidName = Code(rawValue: "invalid-name")
        /// A name with a meaning of its own: `any`, `stay`, `always`.
        public static let reservedName = Code(rawValue: "reserved-name")
        /// A word that is not a choice here.
        public static let unknownChoice = Code(rawValue: "unknown-choice")
        /// A document that is neither a system nor buses and links, or both.
        public static let documentKind = Code(rawValue: "document-kind")

        // Names

        /// Two systems, buses, links or states of one name.
        public static let duplicateName = Code(rawValue: "duplicate-name")
        /// No such state.
        public static let unknownState = Code(rawValue: "unknown-state")
        /// No such event.
        public static let unknownEvent = Code(rawValue: "unknown-event")
        /// An input that does not exist.
        public static let unknownInput = Code(rawValue: "unknown-input")
        /// No such system.
        public static let unknownSystem = Code(rawValue: "unknown-system")
        /// No such bus.
        public static let unknownBus = Code(rawValue: "unknown-bus")
        /// No such type.
        public static let unknownType = Code(rawValue: "unknown-type")
        /// No such field.
        public static let unknownField = Code(rawValue: "unknown-field")
        /// No such user or group on this machine (a warning).
        public static let unknownAccount = Code(rawValue: "unknown-account")
        /// No such kind of systems.
        public static let unknownKind = Code(rawValue: "unknown-kind")
        /// No such side effect, or none at all.
        public static let unknownEffect = Code(rawValue: "unknown-effect")
        /// The side effect has no such parameter.
        public static let unknownParameter = Code(rawValue: "unknown-parameter")
        /// The side effect has no such outcome.
        public static let unknownOutcome = Code(rawValue: "unknown-outcome")

        // Values

        /// A field that must be given and is not.
        public static let missingField = Code(rawValue: "missing-field")
        /// A parameter that must be given and is not.
        public static let missingParameter = Code(rawValue: "missing-parameter")
        /// Data or an expression of the wrong type.
        public static let wrongType = Code(rawValue: "wrong-type")
        /// A number or duration too small or too large.
        public static let outOfRange = Code(rawValue: "out-of-range")
        /// A text that a parameter cannot be, such as a path that does not begin at the root.
        public static let unsuitableText = Code(rawValue: "unsuitable-text")
        /// An expression with variables where only a fixed value can stand.
        public static let notConstant = Code(rawValue: "not-constant")

        /// An environment variable or credential that is not there, or cannot be used.
        public static let unavailableValue = Code(rawValue: "unavailable-value")
        /// A credential where its value would be shown.
        public static let misplacedSecret = Code(rawValue: "misplaced-secret")

        // Expressions

        /// An expression that cannot be read, is too long or too deep, or should give a fixed value and fails.
        public static let invalidExpression = Code(rawValue: "invalid-expression")
        /// An expression uses a name that is not there.
        public static let unknownVariable = Code(rawValue: "unknown-variable")
        /// An expression calls a function that is not there.
        public static let unknownFunction = Code(rawValue: "unknown-function")

        /// A calendar time that cannot be read, or never comes.
        public static let invalidCalendarTime = Code(rawValue: "invalid-calendar-time")
        /// A calendar time that has passed, and does not come again (a warning).
        public static let pastCalendarTime = Code(rawValue: "past-calendar-time")

        // Rules

        /// A rule after one that always holds.
        public static let unreachableRule = Code(rawValue: "unreachable-rule")
        /// A condition that is always true or always false (a warning).
        public static let constantCondition = Code(rawValue: "constant-condition")
        /// A text that is written as an expression, and is none (a warning).
        public static let literalExpression = Code(rawValue: "literal-expression")
        /// Quotation marks that have no meaning in YAML, and so are part of a text (a warning).
        public static let literalQuotes = Code(rawValue: "literal-quotes")
        /// Words of a shell in a command that none runs, or data that one would run (a warning).
        public static let shellSyntax = Code(rawValue: "shell-syntax")
        /// Something that means nothing where it stands (a warning).
        public static let moot = Code(rawValue: "moot")
        /// A link whose keys fit none of the four forms.
        public static let linkForm = Code(rawValue: "link-form")
        /// A system has no initial state: its data cannot be computed, or its kind refuses its parameters.
        public static let initialState = Code(rawValue: "initial-state")

        // The whole

        /// Links that make each other fire without end.
        public static let loop = Code(rawValue: "loop")
        /// Feedbacks of a system that emit at once and keep it going round without end, whatever the data are.
        public static let feedbackLoop = Code(rawValue: "feedback-loop")
        /// A side effect for which its state leaves no time (a warning).
        public static let cutShort = Code(rawValue: "cut-short")
        /// A limit on a link that is part of no loop (a warning).
        public static let needlessLoop = Code(rawValue: "needless-loop")
        /// A state that no transition leads to (a warning).
        public static let unreachableState = Code(rawValue: "unreachable-state")
        /// Rules of `always` that lead from state to state without end.
        public static let alwaysLoop = Code(rawValue: "always-loop")
        /// A state that no rule leaves (a warning).
        public static let deadEnd = Code(rawValue: "dead-end")
        /// A state that is left only if a rule does not fail (a warning).
        public static let doubtfulOutcome = Code(rawValue: "doubtful-outcome")
        /// A side effect whose failure nothing handles (a warning).
        public static let unhandledFailure = Code(rawValue: "unhandled-failure")
        /// A repeated command without a time limit (a warning).
        public static let noTimeLimit = Code(rawValue: "no-time-limit")
        /// Data that is set by hand, in a part without a choice whether it survives a crash (a warning).
        public static let undecidedPersistence = Code(rawValue: "undecided-persistence")
        /// A value from elsewhere in data that is stored on the disk (a warning).
        public static let persistedSecret = Code(rawValue: "persisted-secret")
        /// An input that no link sets (a warning).
        public static let unsetInput = Code(rawValue: "unset-input")
        /// An event that nothing emits (a warning).
        public static let uncausedEvent = Code(rawValue: "uncaused-event")
        /// An event that some state does not handle, or none does (a warning).
        public static let unhandledEvent = Code(rawValue: "unhandled-event")
        /// A link that looks for data that its states never have (a warning).
        public static let unreachableLink = Code(rawValue: "unreachable-link")
        /// A bus on which nothing puts values (a warning).
        public static let unwrittenBus = Code(rawValue: "unwritten-bus")
        /// A bus whose values no link reads (a warning).
        public static let unreadBus = Code(rawValue: "unread-bus")
        /// A value that no reader of its bus lets through (a warning).
        public static let unmatchedValue = Code(rawValue: "unmatched-value")
        /// A condition that no value of its bus fulfils (a warning).
        public static let unmatchedCondition = Code(rawValue: "unmatched-condition")

        /// Every code, in the order above.
        public static let all: [Code] = [
            .unreadable, .tooLarge, .tooDeep, .tooManyDiagnostics, .encoding, .noFiles, .unusedDropIn, .nothingToRemove,
            .syntax,
            .tab, .duplicateKey, .mergeKey,
            .tag, .alias, .wrongShape, .unknownKey, .missingKey, .conflictingKeys, .empty, .invalidName,
            .reservedName, .unknownChoice, .documentKind, .duplicateName, .unknownState, .unknownEvent, .unknownInput,
            .unknownSystem, .unknownBus, .unknownType, .unknownField, .unknownAccount, .unknownKind, .unknownEffect,
            .unknownParameter,
            .unknownOutcome, .missingField, .missingParameter, .wrongType, .outOfRange, .unsuitableText, .notConstant,
            .unavailableValue,
            .misplacedSecret,
            .invalidExpression, .unknownVariable, .unknownFunction, .invalidCalendarTime, .pastCalendarTime,
            .unreachableRule, .constantCondition, .literalExpression, .literalQuotes, .shellSyntax,
            .moot, .linkForm,
            .initialState, .loop, .feedbackLoop, .cutShort, .needlessLoop, .unreachableState, .alwaysLoop,
            .deadEnd, .doubtfulOutcome, .unhandledFailure, .noTimeLimit, .undecidedPersistence, .persistedSecret,
            .unsetInput, .uncausedEvent, .unhandledEvent,
            .unreachableLink,
            .unwrittenBus, .unreadBus, .unmatchedValue, .unmatchedCondition,
        ]
    }
}
