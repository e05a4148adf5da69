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
        ],
        onlyTells: true
    ).withThresholds()

    /// Asks a host for an echo.
    ///
    /// `address` is the one that answered; `took` is how long the answer took, of a failure the whole attempt.
    public static let ping = EffectSchema(
        name: "ping",
        parameters: [
            Parameter(name: "host", type: .string, required: true, constraint: .host), timeout(.seconds(5)),
        ],
        shortForm: "host",
        outcomes: [
            outcome("onSuccess", [("address", .string), ("took", .duration)]),
            outcome("onFailure", [("error", .string), ("took", .duration)]),
        ]
    ).withThresholds()

    /// Makes a request over HTTP and takes the answer.
    ///
    /// `status` is 0 where there is no answer; `headers` has the names in small letters; `json` is what the body stands for,
    /// null if it is no JSON.
    public static let http = EffectSchema(
        name: "http",
        parameters: [
            // Many services have their secret in the path.
            Parameter(name: "url", type: .string, required: true, acceptsSecrets: true, constraint: .url),
            Parameter(
                name: "method", type: .string, default: .string("GET"),
                choices: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            headers,
            Parameter(name: "body", type: .string, acceptsSecrets: true),
            timeout(.seconds(30)),
            Parameter(name: "followRedirects", type: .int, default: .int(5), constraint: .whole(0...10)),
            maxBody,
            Parameter(name: "expect", type: .string, default: .string("200-299"), constraint: .statuses),
            Parameter(name: "ca", type: .string, constraint: .absolutePath),
            Parameter(name: "verify", type: .bool, default: .bool(true)),
        ],
        shortForm: "url",
        outcomes: [
            outcome("onSuccess", answer), outcome("onFailure", answer + [("error", .string)]),
        ]
    ).withThresholds()

    /// Looks a name up, as every program of the system would.
    public static let dns = EffectSchema(
        name: "dns",
        parameters: [
            Parameter(name: "name", type: .string, required: true, constraint: .host),
            Parameter(name: "type", type: .string, default: .string("any"), choices: ["A", "AAAA", "any"]),
            timeout(.seconds(5)),
        ],
        shortForm: "name",
        outcomes: [
            outcome("onSuccess", [("addresses", .list(.string)), ("took", .duration)]),
            outcome("onFailure", [("error", .string), ("took", .duration)]),
        ],
        onlyTells: true
    ).withThresholds()

    /// Sends a message as JSON to a webhook.
    public static let notify = EffectSchema(
        name: "notify",
        parameters: [
            // Many services have their secret in the path.
            Parameter(name: "url", type: .string, required: true, acceptsSecrets: true, constraint: .url),
            Parameter(name: "text", type: .string, required: true),
            Parameter(name: "title", type: .string),
            Parameter(
                name: "priority", type: .string, default: .string("normal"),
                choices: ["low", "normal", "high", "urgent"]),
            Parameter(name: "fields", type: .map(key: .string, value: .string)),
            headers,
            timeout(.seconds(30)),
            Parameter(name: "ca", type: .string, constraint: .absolutePath),
            Parameter(name: "verify", type: .bool, default: .bool(true)),
        ],
        outcomes: [outcome("onSuccess", answer), outcome("onFailure", answer + [("error", .string)])])

    private static let headers = Parameter(
        name: "headers", type: .map(key: .string, value: .string), acceptsSecrets: true, constraint: .headers)

    /// How many bytes of an answer are taken.
    private static let maxBody = Parameter(
        name: "maxBody", type: .int, default: .int(65_536), constraint: .whole(0...1_048_576))

    /// What is told of an answer.
    private static let answer: [(String, ValueType)] = [
        ("status", .int), ("headers", .map(key: .string, value: .string)), ("body", .string), ("json", .dyn),
        ("took", .duration),
    ]

    /// How long something on the network may take.
    private static func timeout(_ usual: Duration) -> Parameter {
        Parameter(
            name: "timeout", type: .duration, default: TimeSpan(usual).map { .duration($0) },
            constraint: .time(.milliseconds(1)...(.seconds(3_600))))
    }
}
