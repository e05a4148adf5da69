import CommonExpression

extension EffectSchema {
    /// Connects to a port once, and closes the connection again.
    ///
    /// `address` is the one that was connected to; `banner` is what the other side said first, as much as was asked for,
    /// at most a line.
    public static let tcp = EffectSchema(
        name: "tcp", summary: "connects to a port",
        parameters: [
            Parameter(
                name: "host", summary: "a name or address, IPv4 or IPv6 without brackets", type: .string,
                required: true, constraint: .host),
            Parameter(
                name: "port", summary: "the port: from 1 to 65535", type: .int, required: true,
                constraint: .whole(1...65_535)),
            timeout(.seconds(5), "the time limit for lookup, connection and banner together: from 1 ms to 1 h"),
            Parameter(
                name: "banner",
                summary: """
                    the number of bytes of the greeting to wait for, at most one line: from 0 to 4096
                    """, type: .int, default: .int(0), constraint: .whole(0...4_096)),
        ],
        outcomes: [
            outcome(
                "onSuccess", "it is connected, and the awaited greeting has arrived",
                [("address", .string), ("took", .duration), ("banner", .string)]),
            outcome("onFailure", "anything else", [("error", .string), ("took", .duration)]),
        ],
        onlyTells: true
    ).withThresholds()

    /// Asks a host for an echo.
    ///
    /// `address` is the one that answered; `took` is how long the answer took, of a failure the whole attempt.
    public static let ping = EffectSchema(
        name: "ping", summary: "sends an echo request to a host",
        parameters: [
            Parameter(
                name: "host", summary: "a name or address, IPv4 or IPv6 without brackets", type: .string,
                required: true, constraint: .host),
            timeout(.seconds(5), "the time limit for lookup and answer together: from 1 ms to 1 h"),
        ],
        shortForm: "host",
        outcomes: [
            outcome("onSuccess", "the host has answered", [("address", .string), ("took", .duration)]),
            outcome("onFailure", "anything else", [("error", .string), ("took", .duration)]),
        ]
    ).withThresholds()

    /// Makes a request over HTTP and takes the answer.
    ///
    /// `status` is 0 where there is no answer; `headers` has the names in small letters; `json` is what the body stands for,
    /// null if it is no JSON.
    public static let http = EffectSchema(
        name: "http", summary: "sends a request over HTTP",
        parameters: [
            // Many services have their secret in the path.
            Parameter(
                name: "url",
                summary:
                    "the address: 'http://', 'https://', or, for a UNIX socket, 'http+unix://' and 'https+unix://'",
                type: .string, required: true, acceptsSecrets: true, constraint: .url),
            Parameter(
                name: "method", summary: "the method of the request", type: .string, default: .string("GET"),
                choices: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            headers,
            Parameter(
                name: "body", summary: "the body of the request; set its 'Content-Type' in 'headers'", type: .string,
                acceptsSecrets: true),
            timeout(
                .seconds(30),
                "the time limit for the whole request, with redirects and response: from 1 ms to 1 h"),
            Parameter(
                name: "followRedirects",
                summary: """
                    the number of redirects to follow: from 0 to 10. With 0, a redirect is an ordinary response
                    """, type: .int, default: .int(5), constraint: .whole(0...10)),
            maxBody,
            Parameter(
                name: "expect", summary: "the statuses that count as success: '200-299,404'", type: .string,
                default: .string("200-299"), constraint: .statuses),
            Parameter(
                name: "ca",
                summary: """
                    the absolute path of a file of PEM certificates: only servers certified by one of them are \
                    trusted
                    """, type: .string, constraint: .absolutePath),
            Parameter(
                name: "verify",
                summary: "true to trust only servers with a valid certificate; with 'false', anybody may answer",
                type: .bool,
                default: .bool(true)),
        ],
        shortForm: "url",
        outcomes: [
            outcome("onSuccess", "the response has arrived, and 'expect' contains its status", answer),
            outcome("onFailure", "anything else", answer + [("error", .string)]),
        ]
    ).withThresholds()

    /// Looks a name up, as every program of the system would.
    public static let dns = EffectSchema(
        name: "dns", summary: "looks up a name",
        parameters: [
            Parameter(name: "name", summary: "the name", type: .string, required: true, constraint: .host),
            Parameter(
                name: "type", summary: "the addresses to look up: IPv4, IPv6 or both", type: .string,
                default: .string("any"), choices: ["A", "AAAA", "any"]),
            timeout(.seconds(5), "the time limit: from 1 ms to 1 h"),
        ],
        shortForm: "name",
        outcomes: [
            outcome("onSuccess", "the name has an address", [("addresses", .list(.string)), ("took", .duration)]),
            outcome("onFailure", "anything else", [("error", .string), ("took", .duration)]),
        ],
        onlyTells: true
    ).withThresholds()

    /// Sends a message as JSON to a webhook.
    public static let notify = EffectSchema(
        name: "notify", summary: "sends a message to a webhook",
        parameters: [
            // Many services have their secret in the path.
            Parameter(
                name: "url", summary: "the address of the webhook, as for 'http'", type: .string, required: true,
                acceptsSecrets: true, constraint: .url),
            Parameter(name: "text", summary: "the message", type: .string, required: true),
            Parameter(name: "title", summary: "the subject", type: .string),
            Parameter(
                name: "priority", summary: "the importance", type: .string, default: .string("normal"),
                choices: ["low", "normal", "high", "urgent"]),
            Parameter(name: "fields", summary: "further data of the message", type: .map(key: .string, value: .string)),
            headers,
            timeout(.seconds(30), "the time limit for the whole request: from 1 ms to 1 h"),
            Parameter(
                name: "ca",
                summary:
                    "the absolute path of a file of PEM certificates: only servers certified by one of them are trusted",
                type: .string, constraint: .absolutePath),
            Parameter(
                name: "verify",
                summary: "true to trust only servers with a valid certificate; with 'false', anybody may answer",
                type: .bool, default: .bool(true)),
        ],
        outcomes: [
            outcome("onSuccess", "the server has accepted it with a status from 200 to 299", answer),
            outcome("onFailure", "anything else", answer + [("error", .string)]),
        ])

    private static let headers = Parameter(
        name: "headers",
        summary: "fields of the header, except those of the connection, such as 'Content-Length'",
        type: .map(key: .string, value: .string), acceptsSecrets: true, constraint: .headers)

    /// The number of bytes that are read of an answer.
    private static let maxBody = Parameter(
        name: "maxBody", summary: "the maximum number of bytes of the response's body: from 0 to 1048576", type: .int,
        default: .int(65_536), constraint: .whole(0...1_048_576))

    /// The parts of an answer that outcomes have.
    private static let answer: [(String, ValueType)] = [
        ("status", .int), ("headers", .map(key: .string, value: .string)), ("body", .string), ("json", .dyn),
        ("took", .duration),
    ]

    /// The time limit of a request.
    private static func timeout(_ usual: Duration, _ summary: String) -> Parameter {
        Parameter(
            name: "timeout", summary: summary, type: .duration, default: TimeSpan(usual).map { .duration($0) },
            constraint: .time(.milliseconds(1)...(.seconds(3_600))))
    }
}
