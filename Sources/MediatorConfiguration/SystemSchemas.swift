import CommonExpression

extension EffectSchema {
    /// Follows a process: one that a file names by its number, or one that has a name.
    ///
    /// `pid` is 0 where there was none; `command` is the process's name as the kernel has it.
    public static let process = EffectSchema(
        name: "process",
        parameters: [
            Parameter(name: "command", type: .string, constraint: .component(limit: 15)),
            Parameter(name: "pidFile", type: .string, constraint: .absolutePath),
            Parameter(
                name: "every", type: .duration, default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
        ],
        shortForm: "command",
        exactlyOneOf: ["command", "pidFile"],
        outcomes: [
            outcome("onRunning", [("pid", .int), ("command", .string), ("started", .timestamp)]),
            outcome("onEnded", [("pid", .int)]),
        ],
        isLasting: true)
}
