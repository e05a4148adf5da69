public import CommonExpression
import FoundationEssentials
public import MediatorConfiguration
public import MediatorHost

/// The side effect `notify`: sends a message as JSON to a webhook.
public struct NotifyEffect: EffectImplementation {
    /// The bytes of the answer that are read. The rest is discarded.
    static let answerLimit = 65_536

    /// The message that is sent.
    private struct Message: Encodable {
        let title: String
        let text: String
        let priority: String
        let fields: [String: String]
        let system: String
    }

    private let client: HTTPClient

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .notify }

    /// Creates the side effect with its own client.
    public init() {
        self.init(client: HTTPClient())
    }

    /// Creates the side effect with a shared client.
    package init(client: HTTPClient) {
        self.client = client
    }

    /// Sends the message once. Reports `onSuccess` if it was accepted, otherwise `onFailure`. A cancelled run reports
    /// nothing, and has closed its connection.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        // Computed arguments have been checked like literal ones.
        guard let address = try? WebAddress(arguments["url"]?.text ?? ""), let expected = StatusRanges("200-299") else {
            return
        }
        let message = Message(
            title: arguments["title"]?.text ?? context.system, text: arguments["text"]?.text ?? "",
            priority: arguments["priority"]?.text ?? "normal", fields: arguments["fields"]?.stringMap ?? [:],
            system: context.system)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(message) else {
            preconditionFailure("text can be written as JSON")
        }
        var headers = arguments["headers"]?.stringMap ?? [:]
        if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
            headers["Content-Type"] = "application/json"
        }
        // Redirects are not followed, because some turn a POST into a GET, which would look like success.
        let plan = HTTPPlan(
            address: address, method: "POST", headers: headers, body: String(decoding: body, as: UTF8.self),
            redirects: 0,
            bodyLimit: Self.answerLimit, isCut: true, expected: expected, authorities: arguments["ca"]?.text,
            verifies: arguments["verify"] != .bool(false))
        await perform(plan, arguments, with: client, schema: schema, in: context)
    }

    /// Ends the client, if it was created.
    public func shutDown() async {
        await client.shutDown()
    }
}
