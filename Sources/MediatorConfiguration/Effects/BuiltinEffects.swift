import CommonExpression

extension EffectSchema {
    /// Emits an event of the system itself, at once or by schedule.
    public static let emit = EffectSchema(
        name: "emit", summary: "emits an event of the system itself", emitsDirectly: true)

    /// Puts a value on a bus, at once or by schedule.
    public static let publish = EffectSchema(
        name: "publish", summary: "puts a value on a bus",
        parameters: [
            Parameter(
                name: "to",
                summary: "the name of the bus; in a template, 'NAME@*' is the bus of the instance",
                type: .string, required: true),
            Parameter(name: "value", summary: "the value, which has the type of the bus", type: .dyn, required: true),
        ],
        shortForm: nil, exactlyOneOf: [], outcomes: [], emitsDirectly: false, isLasting: false, isProbe: false,
        publishesDirectly: true)

    /// Writes a line to the log.
    public static let log = EffectSchema(
        name: "log", summary: "writes to the log",
        parameters: [
            Parameter(name: "message", summary: "the text", type: .string, required: true),
            Parameter(
                name: "level", summary: "the severity", type: .string, default: .string("info"),
                choices: ["debug", "info", "notice", "warning", "error"]),
            Parameter(
                name: "fields", summary: "further data by name: at most 32 fields, 32 KiB together",
                type: .map(key: .string, value: .string), constraint: .logFields),
        ],
        shortForm: "message")

    /// The beginning of the `error` of a side effect whose own `timeout` passed, such as that of `run`.
    package static let timeLimitPassed = "the time limit passed"

    /// The outcome of any side effect that exceeds its time limit.
    public static let timeoutOutcome = Outcome(
        name: "onTimeout", summary: "its time, which 'timeout' says, was over",
        result: StructureType(name: "result", fields: [StructureType.Field(name: "after", type: .duration)]))

    /// The side effects of every host.
    public static let builtin: [EffectSchema] = [
        run, emit, publish, log, socket, path, filesystem, interface, pressure, process, tcp, ping, http, dns, notify,
        unit, units,
        systemctl,
        journal,
    ]
}
