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

    /// Watches a unit of systemd.
    public static let unit = EffectSchema(
        name: "unit",
        parameters: [
            Parameter(name: "name", type: .string, required: true, constraint: .unitName), scope,
        ],
        shortForm: "name",
        outcomes: [
            outcome(
                "onChange",
                [("name", .string), ("active", .string), ("sub", .string), ("load", .string), ("result", .string)])
        ],
        isLasting: true)

    /// Watches the units of systemd whose names match a pattern.
    public static let units = EffectSchema(
        name: "units",
        parameters: [Parameter(name: "pattern", type: .string, required: true, allowsEmpty: false), scope],
        shortForm: "pattern",
        outcomes: [
            outcome("onChange", [("name", .string), ("active", .string), ("sub", .string), ("load", .string)]),
            outcome("onList", [("units", .list(.string)), ("count", .int), ("active", .int), ("failed", .int)]),
        ],
        isLasting: true)

    /// Starts, stops, restarts or reloads a unit of systemd, and waits until that is done.
    public static let systemctl = EffectSchema(
        name: "systemctl",
        parameters: [
            Parameter(name: "name", type: .string, required: true, constraint: .unitName),
            Parameter(
                name: "action", type: .string, required: true,
                choices: ["start", "stop", "restart", "reload", "tryRestart"]),
            Parameter(
                name: "timeout", type: .duration, default: TimeSpan(.seconds(90)).map { .duration($0) },
                constraint: .time(.milliseconds(1)...(.seconds(86_400)))),
            scope,
        ],
        outcomes: [
            outcome("onSuccess", [("name", .string), ("result", .string), ("active", .string)]),
            outcome("onFailure", [("name", .string), ("result", .string), ("error", .string)]),
        ])

    /// Tells each entry of the journal that matches.
    ///
    /// `priority` is −1 where an entry has none.
    public static let journal = EffectSchema(
        name: "journal",
        parameters: [
            Parameter(
                name: "match", type: .map(key: .string, value: .string), default: .map([:]),
                constraint: .journalFields),
            Parameter(name: "priority", type: .string, choices: journalPriorities),
            Parameter(name: "since", type: .string, default: .string("now"), choices: ["now", "boot"]),
            Parameter(name: "cursor", type: .string, allowsEmpty: false),
            Parameter(name: "perSecond", type: .int, default: .int(100), constraint: .whole(1...1_000)),
        ],
        outcomes: [
            outcome(
                "onEntry",
                [
                    ("message", .string), ("unit", .string), ("priority", .int), ("time", .timestamp),
                    ("cursor", .string), ("fields", .map(key: .string, value: .string)),
                ]),
            outcome("onDropped", [("count", .int)]),
        ],
        isLasting: true)

    /// How grave an entry is, from 0 on (syslog(3)).
    public static let journalPriorities = [
        "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
    ]

    private static let scope = Parameter(
        name: "scope", type: .string, default: .string("system"), choices: ["system", "user"])
}
