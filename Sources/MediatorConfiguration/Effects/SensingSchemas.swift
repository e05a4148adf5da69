import CommonExpression

extension EffectSchema {
    /// Listens on a UNIX socket: each line or datagram of JSON is an outcome.
    ///
    /// `json` is its value, of any type. `number` counts messages since the start, from 1. `user` is the number of the
    /// sender's user, −1 if the system does not know it.
    public static let socket = EffectSchema(
        name: "socket", summary: "reports each line of JSON that is sent to a UNIX socket",
        parameters: [
            Parameter(
                name: "path",
                summary: "the absolute path of the socket: at most 107 bytes. Its directory must exist",
                type: .string, required: true, constraint: .socketPath),
            Parameter(
                name: "type", summary: "connections with one JSON text per line, or datagrams with one JSON text each",
                type: .string,
                default: .string("stream"), choices: ["stream", "datagram"]),
            Parameter(
                name: "mode",
                summary: "the permissions of the file, octal and in quotes; users who may write to it may send",
                type: .string, default: .string("0600"), constraint: .permissions),
        ],
        shortForm: "path",
        outcomes: [
            outcome(
                "onMessage", "a line or datagram is JSON",
                [("text", .string), ("json", .dyn), ("number", .int), ("user", .int)]),
            outcome(
                "onInvalid", "a line or datagram is not JSON, not UTF-8, or too long",
                [("text", .string), ("reason", .string), ("number", .int), ("user", .int)]),
        ],
        isLasting: true)

    /// Watches a file or directory: whether it is there, and when it changes.
    ///
    /// `name` is the entry of a directory that changed last, else empty; `size` counts bytes; `content` is what a file
    /// begins with, as much as was asked for.
    public static let path = EffectSchema(
        name: "path", summary: "reports when a file or directory appears, changes or vanishes",
        parameters: [
            Parameter(
                name: "path", summary: "the absolute path to observe. Neither it nor its directories need to exist",
                type: .string, required: true, constraint: .absolutePath),
            Parameter(
                name: "content", summary: "the number of bytes that are read from the start of a file: from 0 to 65536",
                type: .int,
                default: .int(0), constraint: .whole(0...65_536)),
            Parameter(
                name: "settle", summary: "the time from the first change to the report: from 1 ms to 1 h",
                type: .duration, default: TimeSpan(.milliseconds(100)).map { .duration($0) },
                constraint: .time(.milliseconds(1)...(.seconds(3_600)))),
        ],
        shortForm: "path",
        outcomes: [
            ("onAppear", "it exists and did not before; at the start, if it exists"),
            (
                "onChange",
                """
                its content, size, time, owner or permissions changed, or another file took its place; for a \
                directory, an entry changed, appeared or vanished
                """
            ),
            ("onVanish", "it no longer exists; at the start, if it does not exist"),
        ].map {
            outcome(
                $0, $1,
                [
                    ("path", .string), ("name", .string), ("kind", .string), ("size", .int), ("modified", .timestamp),
                    ("content", .string),
                ])
        },
        isLasting: true)

    /// Reports the fill level of a file system, in hundredths as `df` counts them, and when it crosses a limit.
    public static let filesystem = EffectSchema(
        name: "filesystem", summary: "reports how full a file system is",
        parameters: [
            Parameter(
                name: "path", summary: "any absolute path on the file system", type: .string, required: true,
                constraint: .absolutePath),
            Parameter(
                name: "every", summary: "the time between measurements: from 1 s to 24 h", type: .duration,
                default: TimeSpan(.seconds(30)).map { .duration($0) },
                constraint: interval),
            Parameter(
                name: "above", summary: "the upper limit in percent, from 1 to 99", type: .int,
                constraint: .whole(1...99)),
            Parameter(
                name: "below", summary: "the lower limit in percent, from 1 to 'above'", type: .int,
                constraint: .whole(1...99), upperBound: "above"),
        ],
        shortForm: "path",
        outcomes: [
            ("onSample", "each measurement, after the others"),
            ("onAbove", "'percent' has risen above 'above'; at the start, if it is above"),
            ("onBelow", "'percent' has fallen below 'below'; at the start, if it is not above"),
        ].map {
            outcome(
                $0, $1,
                [
                    ("path", .string), ("percent", .int), ("freeBytes", .int), ("usedBytes", .int),
                    ("totalBytes", .int),
                    ("freeInodesPercent", .int),
                ])
        },
        isLasting: true)

    /// Reports when a network interface becomes able to carry packets, when it no longer is, and when it is gone.
    ///
    /// `state` is that of RFC 2863 in the kernel's words, `none` if there is no interface; `mtu` counts bytes.
    public static let interface = EffectSchema(
        name: "interface", summary: "reports when a network interface works, fails or is gone",
        parameters: [
            Parameter(
                name: "name", summary: "the name of the interface: at most 15 bytes. It need not exist", type: .string,
                required: true, constraint: .component(limit: 15))
        ],
        shortForm: "name",
        outcomes: [
            (
                "onUp",
                """
                it is switched on and works: its state is 'up', or it has no state, like 'lo'; also at the start
                """
            ),
            ("onDown", "it exists but does not work, or is switched off; also at the start"),
            ("onGone", "no interface has this name; also at the start"),
        ].map {
            outcome($0, $1, [("name", .string), ("state", .string), ("carrier", .bool), ("mtu", .int)])
        },
        isLasting: true)

    /// Tells for how much of the time work has waited for the processor, memory or disks, in percent, and when the share
    /// of the last ten seconds crosses a limit.
    public static let pressure = EffectSchema(
        name: "pressure", summary: "reports how much work waits for the processor, memory or disks",
        parameters: [
            Parameter(
                name: "of", summary: "the resource", type: .string, required: true,
                choices: ["cpu", "memory", "io"]),
            Parameter(
                name: "every", summary: "the time between measurements: from 1 s to 24 h", type: .duration,
                default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
            Parameter(
                name: "above", summary: "the upper limit for 'someAvg10' in percent, from 0.1 to 100",
                type: .double, constraint: .number(0.1...100)),
            Parameter(
                name: "below", summary: "the lower limit for 'someAvg10' in percent, from 0.01 to 'above'",
                type: .double,
                constraint: .number(0.01...100), upperBound: "above"),
        ],
        shortForm: "of",
        outcomes: [
            ("onSample", "each measurement, after the others"),
            ("onAbove", "'someAvg10' has risen above 'above'; at the start, if it is above"),
            ("onBelow", "'someAvg10' has fallen below 'below'; at the start, if it is not above"),
        ].map {
            outcome(
                $0, $1,
                [("of", .string)]
                    + ["someAvg10", "someAvg60", "someAvg300", "fullAvg10", "fullAvg60", "fullAvg300"].map {
                        ($0, .double)
                    })
        },
        isLasting: true)

    /// The time between two measurements.
    static let interval = Parameter.Constraint.time(.seconds(1)...(.seconds(86_400)))

    /// An outcome whose result has these fields.
    static func outcome(_ name: String, _ summary: String, _ fields: [(String, ValueType)]) -> Outcome {
        Outcome(
            name: name, summary: summary,
            result: StructureType(
                name: "result", fields: fields.map { StructureType.Field(name: $0.0, type: $0.1) }))
    }
}
