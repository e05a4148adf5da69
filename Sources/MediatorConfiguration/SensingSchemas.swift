import CommonExpression

extension EffectSchema {
    /// Listens on a UNIX socket: each line, or datagram, of JSON that comes is an outcome.
    ///
    /// `json` is the value it stands for, of whatever type that is; `number` counts what came, from 1, since it began to
    /// listen; `user` is the number of the sender's user, −1 if the system does not know it.
    public static let socket = EffectSchema(
        name: "socket",
        parameters: [
            Parameter(name: "path", type: .string, required: true, constraint: .socketPath),
            Parameter(name: "type", type: .string, default: .string("stream"), choices: ["stream", "datagram"]),
            Parameter(name: "mode", type: .string, default: .string("0600"), constraint: .permissions),
        ],
        shortForm: "path",
        outcomes: [
            outcome("onMessage", [("text", .string), ("json", .dyn), ("number", .int), ("user", .int)]),
            outcome("onInvalid", [("text", .string), ("reason", .string), ("number", .int), ("user", .int)]),
        ],
        isLasting: true)

    /// Watches a file or directory: whether it is there, and when it changes.
    ///
    /// `name` is the entry of a directory that changed last, else empty; `size` counts bytes; `content` is what a file
    /// begins with, as much as was asked for.
    public static let path = EffectSchema(
        name: "path",
        parameters: [
            Parameter(name: "path", type: .string, required: true, constraint: .absolutePath),
            Parameter(name: "content", type: .int, default: .int(0), constraint: .whole(0...65_536)),
            Parameter(
                name: "settle", type: .duration, default: TimeSpan(.milliseconds(100)).map { .duration($0) },
                constraint: .time(.milliseconds(1)...(.seconds(3_600)))),
        ],
        shortForm: "path",
        outcomes: ["onAppear", "onChange", "onVanish"].map {
            outcome(
                $0,
                [
                    ("path", .string), ("name", .string), ("kind", .string), ("size", .int), ("modified", .timestamp),
                    ("content", .string),
                ])
        },
        isLasting: true)

    /// Tells how full a file system is, in hundredths as `df` counts them, and when that crosses a limit.
    public static let filesystem = EffectSchema(
        name: "filesystem",
        parameters: [
            Parameter(name: "path", type: .string, required: true, constraint: .absolutePath),
            Parameter(
                name: "every", type: .duration, default: TimeSpan(.seconds(30)).map { .duration($0) },
                constraint: interval),
            Parameter(name: "above", type: .int, constraint: .whole(1...99)),
            Parameter(name: "below", type: .int, constraint: .whole(1...99), upperBound: "above"),
        ],
        shortForm: "path",
        outcomes: ["onSample", "onAbove", "onBelow"].map {
            outcome(
                $0,
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
        name: "interface",
        parameters: [Parameter(name: "name", type: .string, required: true, constraint: .component(limit: 15))],
        shortForm: "name",
        outcomes: ["onUp", "onDown", "onGone"].map {
            outcome($0, [("name", .string), ("state", .string), ("carrier", .bool), ("mtu", .int)])
        },
        isLasting: true)

    /// Tells for how much of the time work has waited for the processor, memory or disks, in percent, and when the share
    /// of the last ten seconds crosses a limit.
    public static let pressure = EffectSchema(
        name: "pressure",
        parameters: [
            Parameter(name: "of", type: .string, required: true, choices: ["cpu", "memory", "io"]),
            Parameter(
                name: "every", type: .duration, default: TimeSpan(.seconds(10)).map { .duration($0) },
                constraint: interval),
            Parameter(name: "above", type: .double, constraint: .number(0.1...100)),
            Parameter(name: "below", type: .double, constraint: .number(0.01...100), upperBound: "above"),
        ],
        shortForm: "of",
        outcomes: ["onSample", "onAbove", "onBelow"].map {
            outcome(
                $0,
                [("of", .string)]
                    + ["someAvg10", "someAvg60", "someAvg300", "fullAvg10", "fullAvg60", "fullAvg300"].map {
                        ($0, .double)
                    })
        },
        isLasting: true)

    /// How often something may be measured.
    static let interval = Parameter.Constraint.time(.seconds(1)...(.seconds(86_400)))

    /// An outcome whose result has these fields.
    static func outcome(_ name: String, _ fields: [(String, ValueType)]) -> Outcome {
        Outcome(
            name: name,
            result: StructureType(
                name: "result", fields: fields.map { StructureType.Field(name: $0.0, type: $0.1) }))
    }
}
