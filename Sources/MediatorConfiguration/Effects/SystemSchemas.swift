import CommonExpression

extension EffectSchema {
    /// Follows a process, which has a name, or whose number is in a file.
    ///
    /// `pid` is 0 if the process was not there. `command` is the kernel's name of the process.
    public static let process = EffectSchema(
        name: "process", summary: "reports when a process runs and when it has ended",
        parameters: [
            Parameter(
                name: "command",
                summary: """
                    the name of the process, as 'ps -o comm' prints it: at most 15 bytes, without '/'. Of \
                    several, the oldest is observed
                    """, type: .string, constraint: .component(limit: 15)),
            Parameter(
                name: "pidFile",
                summary: """
                    the absolute path of a file with the number of the process in its first line. It need not \
                    exist
                    """, type: .string, constraint: .absolutePath),
            Parameter(
                name: "every", summary: "the time between searches while no such process runs: from 1 s to 24 h",
                type: .duration,
                default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
        ],
        shortForm: "command",
        exactlyOneOf: ["command", "pidFile"],
        outcomes: [
            outcome(
                "onRunning", "a process runs that was not reported before; also at the start",
                [("pid", .int), ("command", .string), ("started", .timestamp)]),
            outcome("onEnded", "it has ended; at the start, if none runs", [("pid", .int)]),
        ],
        isLasting: true)

    /// Watches a unit of systemd.
    public static let unit = EffectSchema(
        name: "unit", summary: "reports the state of a unit of systemd",
        parameters: [
            Parameter(
                name: "name", summary: "the name of the unit with its type: 'nginx.service'. It need not exist",
                type: .string,
                required: true, constraint: .unitName), scope,
        ],
        shortForm: "name",
        outcomes: [
            outcome(
                "onChange", "at the start, and when anything in 'result' has changed",
                [("name", .string), ("active", .string), ("sub", .string), ("load", .string), ("result", .string)])
        ],
        isLasting: true)

    /// Watches the units of systemd whose names match a pattern.
    public static let units = EffectSchema(
        name: "units", summary: "reports the states of all units of systemd whose names match a pattern",
        parameters: [
            Parameter(
                name: "pattern",
                summary: """
                    a shell pattern for names with their type: 'backup@*.service'. Only loaded units match, as in \
                    'systemctl list-units --all'
                    """, type: .string, required: true, allowsEmpty: false), scope,
        ],
        shortForm: "pattern",
        outcomes: [
            outcome(
                "onChange",
                """
                for each unit at the start, and when a unit has changed, or was loaded or unloaded
                """, [("name", .string), ("active", .string), ("sub", .string), ("load", .string)]),
            outcome(
                "onList", "after each 'onChange' that changes any of these values",
                [("units", .list(.string)), ("count", .int), ("active", .int), ("failed", .int)]),
        ],
        isLasting: true)

    /// Starts, stops, restarts or reloads a unit of systemd, and waits until that is done.
    public static let systemctl = EffectSchema(
        name: "systemctl", summary: "starts, stops, restarts or reloads a unit of systemd",
        parameters: [
            Parameter(
                name: "name", summary: "the name of the unit with its type: 'nginx.service'", type: .string,
                required: true,
                constraint: .unitName),
            Parameter(
                name: "action", summary: "the job; 'tryRestart' restarts only a running unit",
                type: .string, required: true,
                choices: ["start", "stop", "restart", "reload", "tryRestart"]),
            Parameter(
                name: "timeout", summary: "the time limit for the job: from 1 ms to 24 h", type: .duration,
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
        name: "journal", summary: "reports each matching entry of the journal",
        parameters: [
            Parameter(
                name: "match",
                summary: "the values that fields must have, all of them: '{ _SYSTEMD_UNIT: ssh.service }'",
                type: .map(key: .string, value: .string), default: .map([:]),
                constraint: .journalFields),
            Parameter(
                name: "priority", summary: "the least severe priority that is reported", type: .string,
                choices: journalPriorities),
            Parameter(
                name: "since",
                summary: "the start: with new entries, or with the first entry since boot",
                type: .string, default: .string("now"), choices: ["now", "boot"]),
            Parameter(
                name: "cursor", summary: "the cursor of the entry behind which it starts instead", type: .string,
                allowsEmpty: false),
            Parameter(
                name: "perSecond", summary: "the number of entries that are reported in a second: from 1 to 1000",
                type: .int,
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
                "onDropped", "entries were not reported because there were too many or they could not be read",
                [("count", .int)]),
        ],
        isLasting: true)

    /// The priorities of an entry, from 0 on (syslog(3)).
    public static let journalPriorities = [
        "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
    ]

    private static let scope = Parameter(
        name: "scope", summary: "the system's service manager, or that of the daemon's user", type: .string,
        default: .string("system"), choices: ["system", "user"])
}
