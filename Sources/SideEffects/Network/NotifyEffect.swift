public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import StrictJSON

/// The side effect `notify`: sends a message as JSON to a webhook.
public struct NotifyEffect: EffectImplementation {
    /// The bytes of the answer that are read. The rest is discarded.
    static let answerLimit = 65_536

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
        let message: JSONValue = [
            "title": .string(arguments["title"]?.text ?? context.system),
            "text": .string(arguments["text"]?.text ?? ""),
            "priority": .string(arguments["priority"]?.text ?? "normal"),
            "fields": .object((arguments["fields"]?.stringMap ?? [:]).mapValues { .string($0) }),
            "system": .string(context.system),
        ]
        var headers = arguments["headers"]?.stringMap ?? [:]
        if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
            headers["Content-Type"] = "application/json"
        }
        // Redirects are not followed, because some turn a POST into a GET, which would look like success.
        let plan = HTTPPlan(
            address: address, method: "POST", headers: headers, body: message.description,
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
