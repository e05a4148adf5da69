extension Diagnostic.Code {
    /// What kind of mistake it is, in one sentence without a full stop; the code itself if it is none of ``all``.
    public var meaning: String { Self.meanings[self] ?? rawValue }

    /// Whether findings of this code are warnings.
    public var isWarning: Bool { Self.warnings.contains(self) }

    private static let warnings: Set<Self> = [
        .noFiles, .unusedDropIn, .nothingToRemove, .constantCondition, .literalExpression, .literalQuotes, .shellSyntax,
        .moot, .needlessLoop,
        .unreachableState, .uncausedEvent,
        .unhandledEvent, .unreachableLink,
        .unwrittenBus, .unreadBus, .unmatchedValue, .unmatchedCondition, .pastCalendarTime, .unknownAccount,
    ]

    private static let meanings: [Self: String] = [
        .unreadable: "A file or directory is missing, is not what it should be, or cannot be read",
        .tooLarge: "A file, or the number of files, nodes, states, events or rules, exceeds its limit",
        .tooDeep: "Lists and mappings lie too deep in each other",
        .tooManyFindings: "A file has more mistakes than are reported",
        .encoding: "A file is not UTF-8, or has characters that YAML does not allow",
        .noFiles: "There is no file of a configuration, or none that holds anything",
        .unusedDropIn: "A drop-in without a file that it changes",
        .nothingToRemove: "A drop-in removes what is not there",
        .syntax: "A document is not YAML",
        .tab: "A tab where YAML wants spaces",
        .duplicateKey: "A key stands twice in one mapping",
        .mergeKey: "`<<`, which YAML 1.2 does not know",
        .tag: "An explicit tag such as `!!str`",
        .alias: "An alias without its anchor, or within it",
        .wrongShape: "A list where a mapping should be, or the like",
        .unknownKey: "A key that has no meaning where it stands",
        .missingKey: "A key that must be there",
        .conflictingKeys: "Keys that exclude each other",
        .empty: "A list or mapping that needs at least one entry",
        .invalidName: "A name with characters, or of a length, that names may not have",
        .reservedName: "A name with a meaning of its own: `any`, `stay`",
        .unknownChoice: "A word that is none of those possible here",
        .documentKind: "A document that is neither a system nor buses and links, or both",
        .duplicateName: "Two systems, buses, links or states of one name",
        .unknownState: "No such state",
        .unknownEvent: "No such event",
        .unknownSystem: "No such system",
        .unknownBus: "No such bus",
        .unknownType: "No such type",
        .unknownField: "No such field",
        .unknownAccount: "No such user or group on this machine",
        .unknownKind: "No such kind of systems",
        .unknownEffect: "No such side effect, or none at all",
        .unknownParameter: "The side effect has no such parameter",
        .unknownOutcome: "The side effect has no such outcome",
        .missingField: "A field that must be given and is not",
        .missingParameter: "A parameter that must be given and is not",
        .wrongType: "Data or an expression of the wrong type",
        .outOfRange: "A number or duration too small or too large",
        .unsuitableText: "A text that a parameter cannot be",
        .notConstant: "An expression with variables where only a fixed value can stand",
        .unavailableValue: "An environment variable or credential that is not there, or cannot be used",
        .misplacedSecret: "A credential where its value would be shown",
        .invalidExpression:
            "An expression that cannot be read, is too long or too deep, or should give a fixed value and fails",
        .unknownVariable: "An expression uses a name that is not there",
        .unknownFunction: "An expression calls a function that is not there",
        .invalidCalendarTime: "A calendar time that cannot be read, or never comes",
        .pastCalendarTime: "A calendar time that has passed, and does not come again",
        .unreachableRule: "A rule after one that always holds",
        .constantCondition: "A condition that is always true or always false",
        .literalExpression: "A text that names a value as expressions do, and is taken as it stands",
        .literalQuotes: "Quotation marks of word processors, which are part of the text that they stand around",
        .shellSyntax:
            "Words of a shell in a command that no shell runs, or data that a shell would run as part of a script",
        .moot: "Something that means nothing where it stands",
        .linkForm: "A link whose keys fit none of the four forms",
        .initialState:
            "A system has no initial state: its data cannot be computed, or its kind refuses what it is given",
        .loop: "Links that make each other fire without end",
        .feedbackLoop:
            "Feedbacks of a system that emit at once and keep it going round without end, whatever the data are",
        .needlessLoop: "A limit on a link that is part of no loop",
        .unreachableState: "A state that no transition leads to",
        .uncausedEvent: "An event that nothing emits",
        .unhandledEvent: "An event that some state does not handle, or none does",
        .unreachableLink: "A link that looks for data that its states never have",
        .unwrittenBus: "A bus on which nothing puts values",
        .unreadBus: "A bus whose values nobody takes",
        .unmatchedValue: "A value that no reader of its bus lets through",
        .unmatchedCondition: "A condition that no value of its bus fulfils",
    ]
}
