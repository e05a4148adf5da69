import CommonExpression

extension EffectSchema {
    /// The largest size of a command's input, and of the output that is kept.
    public static let runLimit = 1_048_576

    /// Runs a command: its program and arguments, without a shell.
    ///
    /// `exitCode` is −1 if the command ended by a signal or never began. `signal` is the name of that signal, else
    /// empty. `number` counts lines from 1. `json` is null if no JSON is expected, or if the output is not JSON.
    public static let run = EffectSchema(
        name: "run", summary: "runs a command",
        parameters: [
            Parameter(
                name: "command", summary: "the program and its arguments", type: .list(.string), required: true,
                allowsEmpty: false, constraint: .command),
            // Not the command: every user can read its arguments while it runs.
            Parameter(
                name: "input", summary: "the text on its standard input: at most 1 MiB (1048576 bytes)",
                type: .string, acceptsSecrets: true, constraint: .text(limit: runLimit)),
            Parameter(
                name: "environment", summary: "variables in addition to those of the daemon",
                type: .map(key: .string, value: .string), acceptsSecrets: true,
                constraint: .environment),
            Parameter(name: "directory", summary: "its working directory", type: .string, allowsEmpty: false),
            Parameter(
                name: "user", summary: "the name or number of the user that runs it", type: .string,
                allowsEmpty: false, constraint: .account),
            Parameter(
                name: "group", summary: "the name or number of its group; only with 'user'",
                type: .string, allowsEmpty: false, constraint: .account, companion: "user"),
            Parameter(name: "timeout", summary: "the time limit", type: .duration),
            Parameter(
                name: "expect",
                summary: """
                    the ends that count as success: exit codes, ranges of them, and signals, such as \
                    '0,75-78,SIGTERM'
                    """, type: .string, default: .string("0"), constraint: .exits),
            Parameter(
                name: "output",
                summary: "the form of its output: 'json' reads the whole as JSON, 'jsonLines' each line",
                type: .string, default: .string("text"), choices: ["text", "json", "jsonLines"]),
            Parameter(
                name: "maxOutput",
                summary: "the number of bytes of output, and of errors, that are kept: from 0 to 1048576", type: .int,
                default: .int(65_536), constraint: .whole(0...Int64(runLimit))),
        ],
        shortForm: "command",
        outcomes: [
            outcome("onSuccess", "it ended as 'expect' allows, and with 'output: json' its output is JSON", ended),
            outcome("onFailure", "anything else", ended),
            outcome("onLine", "each line while it runs", [("line", .string), ("number", .int), ("json", .dyn)]),
        ]
    ).withThresholds()

    private static let ended: [(String, ValueType)] = [
        ("exitCode", .int), ("signal", .string), ("output", .string), ("error", .string), ("truncated", .bool),
        ("json", .dyn),
    ]
}
