import CommonExpression

extension EffectSchema {
    /// How many bytes may be given to a command, or kept of what it writes.
    public static let runLimit = 1_048_576

    /// Runs a command: its program and arguments, without a shell.
    ///
    /// `exitCode` is −1 if the command ended by a signal or never began, `signal` is the name of the one that ended it, else
    /// empty; `number` counts lines from 1; `json` is null where no JSON is expected, or what there is is none.
    public static let run = EffectSchema(
        name: "run",
        parameters: [
            Parameter(
                name: "command", type: .list(.string), required: true, allowsEmpty: false, constraint: .command),
            // Not the command: every user can read its arguments while it runs.
            Parameter(name: "input", type: .string, acceptsSecrets: true, constraint: .text(limit: runLimit)),
            Parameter(
                name: "environment", type: .map(key: .string, value: .string), acceptsSecrets: true,
                constraint: .environment),
            Parameter(name: "directory", type: .string, allowsEmpty: false),
            Parameter(name: "user", type: .string, allowsEmpty: false, constraint: .account),
            Parameter(name: "group", type: .string, allowsEmpty: false, constraint: .account, companion: "user"),
            Parameter(name: "timeout", type: .duration),
            Parameter(name: "expect", type: .string, default: .string("0"), constraint: .exits),
            Parameter(
                name: "output", type: .string, default: .string("text"), choices: ["text", "json", "jsonLines"]),
            Parameter(
                name: "maxOutput", type: .int, default: .int(65_536), constraint: .whole(0...Int64(runLimit))),
        ],
        shortForm: "command",
        outcomes: [
            outcome("onSuccess", ended), outcome("onFailure", ended),
            outcome("onLine", [("line", .string), ("number", .int), ("json", .dyn)]),
        ]
    ).withThresholds()

    private static let ended: [(String, ValueType)] = [
        ("exitCode", .int), ("signal", .string), ("output", .string), ("error", .string), ("truncated", .bool),
        ("json", .dyn),
    ]
}
