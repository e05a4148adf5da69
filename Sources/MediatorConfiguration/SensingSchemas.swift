import CommonExpression

extension EffectSchema {
    /// Listens on a UNIX socket: each line, or datagram, of JSON that comes is an outcome.
    ///
    /// `json` is the value it stands for, of whatever type that is; `number` counts what came, from 1, since it began to
    /// listen; `user` is the number of the sender's user, −1 if the system does not know it.
    public static let socket = EffectSchema(
        name: "socket", summary: "tells each line of JSON that is sent to a UNIX socket",
        parameters: [
            Parameter(
                name: "path",
                summary: "where the socket is: from the root, at most 107 bytes. Its directory must exist",
                type: .string, required: true, constraint: .socketPath),
            Parameter(
                name: "type", summary: "connections that carry lines, or one JSON text a datagram", type: .string,
                default: .string("stream"), choices: ["stream", "datagram"]),
            Parameter(
                name: "mode", summary: "permissions of the file, octal: who may write may send. In quotes",
                type: .string, default: .string("0600"), constraint: .permissions),
        ],
        shortForm: "path",
        outcomes: [
            outcome(
                "onMessage", "a line or datagram is JSON",
                [("text", .string), ("json", .dyn), ("number", .int), ("user", .int)]),
            outcome(
                "onInvalid", "it is not JSON, not UTF-8, or too long",
                [("text", .string), ("reason", .string), ("number", .int), ("user", .int)]),
        ],
        isLasting: true)

    /// Watches a file or directory: whether it is there, and when it changes.
    ///
    /// `name` is the entry of a directory that changed last, else empty; `size` counts bytes; `content` is what a file
    /// begins with, as much as was asked for.
    public static let path = EffectSchema(
        name: "path", summary: "tells when a file or directory appears, changes or vanishes",
        parameters: [
            Parameter(
                name: "path", summary: "what is watched: from the root. Neither it nor its directories need exist",
                type: .string, required: true, constraint: .absolutePath),
            Parameter(
                name: "content", summary: "how many bytes of a file's beginning are read: from 0 to 65536", type: .int,
                default: .int(0), constraint: .whole(0...65_536)),
            Parameter(
                name: "settle", summary: "how long things may settle before they are looked at: from 1 ms to 1 h",
                type: .duration, default: TimeSpan(.milliseconds(100)).map { .duration($0) },
                constraint: .time(.milliseconds(1)...(.seconds(3_600)))),
        ],
        shortForm: "path",
        outcomes: [
            ("onAppear", "it is there, and was not; at the beginning, if it is there"),
            (
                "onChange",
                """
                it is still there, but its content, size, time, owner or permissions changed, or another took its place; \
                of a directory, an entry changed, came or went
                """
            ),
            ("onVanish", "it was there, and is not; at the beginning, if it is not there"),
        ].map {
            outcome(
                $0, $1,
                [
                    ("path", .string), ("name", .string), ("kind", .string), ("size", .int), ("modified", .timestamp),
                    ("content", .string),
                ])
        },
        isLasting: true)

    /// Tells how full a file system is, in hundredths as `df` counts them, and when that crosses a limit.
    public static let filesystem = EffectSchema(
        name: "filesystem", summary: "tells how full a file system is",
        parameters: [
            Parameter(
                name: "path", summary: "anything on the file system: from the root", type: .string, required: true,
                constraint: .absolutePath),
            Parameter(
                name: "every", summary: "how often it is measured: from 1 s to 24 h", type: .duration,
                default: TimeSpan(.seconds(30)).map { .duration($0) },
                constraint: interval),
            Parameter(
                name: "above", summary: "the limit in percent, from 1 to 99: more is above", type: .int,
                constraint: .whole(1...99)),
            Parameter(
                name: "below", summary: "less than this is below again: from 1 to 'above'", type: .int,
                constraint: .whole(1...99), upperBound: "above"),
        ],
        shortForm: "path",
        outcomes: [
            ("onSample", "each time it is measured, after the others"),
            ("onAbove", "'percent' has risen above 'above'; at the beginning, if it is above"),
            ("onBelow", "'percent' has fallen below 'below'; at the beginning, if it is not above"),
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

    /// Tells when a network interface becomes able to carry packets, when it no longer is, and when it is gone.
    ///
    /// `state` is that of RFC 2863 in the kernel's words, `none` if there is no interface; `mtu` counts bytes.
    public static let interface = EffectSchema(
        name: "interface", summary: "tells when a network interface works, does not, or is gone",
        parameters: [
            Parameter(
                name: "name", summary: "the interface: at most 15 bytes. It need not exist", type: .string,
                required: true, constraint: .component(limit: 15))
        ],
        shortForm: "name",
        outcomes: [
            (
                "onUp",
                """
                it is switched on and works: its state is 'up', or it is one that has no state of its own, as 'lo'; \
                at the beginning too
                """
            ),
            ("onDown", "it is there, and does not work, or is switched off; at the beginning too"),
            ("onGone", "there is none of this name; at the beginning too"),
        ].map {
            outcome($0, $1, [("name", .string), ("state", .string), ("carrier", .bool), ("mtu", .int)])
        },
        isLasting: true)

    /// Tells for how much of the time work has waited for the processor, memory or disks, in percent, and when the share
    /// of the last ten seconds crosses a limit.
    public static let pressure = EffectSchema(
        name: "pressure", summary: "tells how much work waits for the processor, memory or disks",
        parameters: [
            Parameter(
                name: "of", summary: "what is waited for", type: .string, required: true,
                choices: ["cpu", "memory", "io"]),
            Parameter(
                name: "every", summary: "how often it is measured: from 1 s to 24 h", type: .duration,
                default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
            Parameter(
                name: "above", summary: "the limit for 'someAvg10', in percent, from 0.1 to 100: more is above",
                type: .double, constraint: .number(0.1...100)),
            Parameter(
                name: "below", summary: "less than this is below again: from 0.01 to 'above'", type: .double,
                constraint: .number(0.01...100), upperBound: "above"),
        ],
        shortForm: "of",
        outcomes: [
            ("onSample", "each time it is measured, after the others"),
            ("onAbove", "'someAvg10' has risen above 'above'; at the beginning, if it is above"),
            ("onBelow", "'someAvg10' has fallen below 'below'; at the beginning, if it is not above"),
        ].map {
            outcome(
                $0, $1,
                [("of", .string)]
                    + ["someAvg10", "someAvg60", "someAvg300", "fullAvg10", "fullAvg60", "fullAvg300"].map {
                        ($0, .double)
                    })
        },
        isLasting: true)

    /// How often something may be measured.
    static let interval = Parameter.Constraint.time(.seconds(1)...(.seconds(86_400)))

    /// An outcome whose result has these fields.
    static func outcome(_ name: String, _ summary: String, _ fields: [(String, ValueType)]) -> Outcome {
        Outcome(
            name: name, summary: summary,
            result: StructureType(
                name: "result", fields: fields.map { StructureType.Field(name: $0.0, type: $0.1) }))
    }
}
