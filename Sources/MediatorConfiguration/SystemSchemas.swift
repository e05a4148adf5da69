import CommonExpression

extension EffectSchema {
    /// Follows a process: one that a file names by its number, or one that has a name.
    ///
    /// `pid` is 0 where there was none; `command` is the process's name as the kernel has it.
    public static let process = EffectSchema(
        name: "process", summary: "tells when a process runs, and when it has ended",
        parameters: [
            Parameter(
                name: "command",
                summary: """
                    the process's name, as 'ps -o comm' shows it: at most 15 bytes, without '/'. Of several, \
                    the oldest is followed
                    """, type: .string, constraint: .component(limit: 15)),
            Parameter(
                name: "pidFile",
                summary: """
                    a file that holds the process's number in its first line: from the root. It need not exist
                    """, type: .string, constraint: .absolutePath),
            Parameter(
                name: "every", summary: "how often it is looked for while none runs: from 1 s to 24 h", type: .duration,
                default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
        ],
        shortForm: "command",
        exactlyOneOf: ["command", "pidFile"],
        outcomes: [
            outcome(
                "onRunning", "one runs that was not told of yet; at the beginning too",
                [("pid", .int), ("command", .string), ("started", .timestamp)]),
            outcome("onEnded", "it has ended; at the beginning, if none runs", [("pid", .int)]),
        ],
        isLasting: true)

    /// Watches a unit of systemd.
    public static let unit = EffectSchema(
        name: "unit", summary: "tells how a unit of systemd is",
        parameters: [
            Parameter(
                name: "name", summary: "the unit, with its type: 'nginx.service'. It need not exist", type: .string,
                required: true, constraint: .unitName), scope,
        ],
        shortForm: "name",
        outcomes: [
            outcome(
                "onChange", "at the beginning, and when anything in 'result' has changed",
                [("name", .string), ("active", .string), ("sub", .string), ("load", .string), ("result", .string)])
        ],
        isLasting: true)

    /// Watches the units of systemd whose names match a pattern.
    public static let units = EffectSchema(
        name: "units", summary: "tells how the units of systemd are whose names match a pattern",
        parameters: [
            Parameter(
                name: "pattern",
                summary: """
                    a pattern of names as in a shell, with the type: 'backup@*.service'. Only units that are \
                    loaded match, as in 'systemctl list-units --all'
                    """, type: .string, required: true, allowsEmpty: false), scope,
        ],
        shortForm: "pattern",
        outcomes: [
            outcome(
                "onChange",
                """
                for each unit at the beginning, and when one has changed, has been loaded, or is no longer
                """, [("name", .string), ("active", .string), ("sub", .string), ("load", .string)]),
            outcome(
                "onList", "after each 'onChange', when any of this is another than before",
                [("units", .list(.string)), ("count", .int), ("active", .int), ("failed", .int)]),
        ],
        isLasting: true)

    /// Starts, stops, restarts or reloads a unit of systemd, and waits until that is done.
    public static let systemctl = EffectSchema(
        name: "systemctl", summary: "starts, stops, restarts or reloads a unit of systemd",
        parameters: [
            Parameter(
                name: "name", summary: "the unit, with its type: 'nginx.service'", type: .string, required: true,
                constraint: .unitName),
            Parameter(
                name: "action", summary: "what is done; 'tryRestart' restarts what runs, and nothing else",
                type: .string, required: true,
                choices: ["start", "stop", "restart", "reload", "tryRestart"]),
            Parameter(
                name: "timeout", summary: "how long the job is waited for: from 1 ms to 24 h", type: .duration,
                default: TimeSpan(.seconds(90)).map { .duration($0) },
                constraint: .time(.milliseconds(1)...(.seconds(86_400)))),
            scope,
        ],
        outcomes: [
            outcome("onSuccess", "the job is done", [("name", .string), ("result", .string), ("active", .string)]),
            outcome("onFailure", "anything else", [("name", .string), ("result", .string), ("error", .string)]),
        ])

    /// Tells each entry of the journal that matches.
    ///
    /// `priority` is −1 where an entry has none.
    public static let journal = EffectSchema(
        name: "journal", summary: "tells each entry of the journal that matches",
        parameters: [
            Parameter(
                name: "match", summary: "what fields must be, all of them: '{ _SYSTEMD_UNIT: ssh.service }'",
                type: .map(key: .string, value: .string), default: .map([:]),
                constraint: .journalFields),
            Parameter(
                name: "priority", summary: "how grave an entry must be at least", type: .string,
                choices: journalPriorities),
            Parameter(
                name: "since",
                summary: "whether it begins with what comes, or with the first entry since the machine began",
                type: .string, default: .string("now"), choices: ["now", "boot"]),
            Parameter(
                name: "cursor", summary: "it begins behind the entry of this cursor instead", type: .string,
                allowsEmpty: false),
            Parameter(
                name: "perSecond", summary: "how many entries are told in a second: from 1 to 1000", type: .int,
                default: .int(100), constraint: .whole(1...1_000)),
        ],
        outcomes: [
            outcome(
                "onEntry", "an entry matches",
                [
                    ("message", .string), ("unit", .string), ("priority", .int), ("time", .timestamp),
                    ("cursor", .string), ("fields", .map(key: .string, value: .string)),
                ]),
            outcome(
                "onDropped", "entries were not told, since they were too many or could not be read",
                [("count", .int)]),
        ],
        isLasting: true)

    /// How grave an entry is, from 0 on (syslog(3)).
    public static let journalPriorities = [
        "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
    ]

    private static let scope = Parameter(
        name: "scope", summary: "the system's service manager, or that of the daemon's user", type: .string,
        default: .string("system"), choices: ["system", "user"])
}
