public import CommonExpression
import FoundationEssentials
public import MediatorConfiguration
public import MediatorHost

/// `notify`: sends a message as JSON to a webhook.
public struct NotifyEffect: EffectImplementation {
    /// How many bytes of what is answered are taken; the rest is nobody's.
    static let answerLimit = 65_536

    /// The message as it is sent.
    private struct Message: Encodable {
        let title: String
        let text: String
        let priority: String
        let fields: [String: String]
        let system: String
    }

    private let client: HTTPClient

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .notify }

    /// The effect, with a client of its own.
    public init() {
        self.init(client: HTTPClient())
    }

    /// The effect, with a client that others use too.
    package init(client: HTTPClient) {
        self.client = client
    }

    /// Sends the message once; reports `onSuccess` if it was taken, else `onFailure`. One that is cancelled reports
    /// nothing, and has closed what it had open.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        // What is computed has been checked like what is written.
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
        // No redirect is followed: some turn what is sent into what is merely asked for, which would look like success.
        let plan = HTTPPlan(
            address: address, method: "POST", headers: headers, body: String(decoding: body, as: UTF8.self),
            redirects: 0,
            bodyLimit: Self.answerLimit, isCut: true, expected: expected, authorities: arguments["ca"]?.text,
            verifies: arguments["verify"] != .bool(false))
        await perform(plan, arguments, with: client, schema: schema, in: context)
    }

    /// Ends the client, if there is one.
    public func shutDown() async {
        await client.shutDown()
    }
}
