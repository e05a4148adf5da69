import CommonExpression

extension EffectSchema {
    /// Connects to a port once, and closes the connection again.
    ///
    /// `address` is the one that was connected to; `banner` is what the other side said first, as much as was asked for,
    /// at most a line.
    public static let tcp = EffectSchema(
        name: "tcp",
        parameters: [
            Parameter(name: "host", type: .string, required: true, constraint: .host),
            Parameter(name: "port", type: .int, required: true, constraint: .whole(1...65_535)),
            timeout(.seconds(5)),
            Parameter(name: "banner", type: .int, default: .int(0), constraint: .whole(0...4_096)),
        ],
        outcomes: [
            outcome("onSuccess", [("address", .string), ("took", .duration), ("banner", .string)]),
            outcome("onFailure", [("error", .string), ("took", .duration)]),
        ]
    ).withThresholds()

    /// How long something on the network may take.
    private static func timeout(_ usual: Duration) -> Parameter {
        Parameter(
            name: "timeout", type: .duration, default: TimeSpan(usual).map { .duration($0) },
            constraint: .time(.milliseconds(1)...(.seconds(3_600))))
    }
}
