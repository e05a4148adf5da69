import StrictJSON
import Synchronization
import Varlink

/// The service of the certification: it knows the next call of each client, and rejects every other one.
final class CertificationService: Sendable {
    /// The limit on clients at a time. Beyond it the oldest one is forgotten.
    private static let maximumClients = 1_000

    private struct State {
        var lastNumber = 0
        /// Which call of each client comes next, oldest client first.
        var expected: [(client: String, method: Int)] = []
    }

    private let state = Mutex(State())

    func implementation() throws -> InterfaceImplementation {
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: CertificationInterface.text))
        for method in CertificationInterface.methods {
            try interface.register(method, requiresMore: CertificationInterface.mode(of: method) == .more) {
                [self] call in
                guard method != "Start" else { return ["client_id": .string(begin())] }
                try check(call, method)
                guard method == "Test10" else { return CertificationInterface.reply(to: method) }
                for reply in CertificationInterface.lastReplies.dropLast() { try await call.send(["string": reply]) }
                return ["string": CertificationInterface.lastReplies.last ?? ""]
            }
        }
        return interface
    }

    private func begin() -> String {
        state.withLock { state in
            state.lastNumber += 1
            let client = "client-\(state.lastNumber)"
            if state.expected.count == Self.maximumClients { state.expected.removeFirst() }
            state.expected.append((client, 1))
            return client
        }
    }

    private func check(_ call: MethodCall, _ method: String) throws {
        let client = call.parameters["client_id"]?.stringValue ?? ""
        let index = CertificationInterface.methods.firstIndex(of: method) ?? 0
        let isExpected = state.withLock { state -> Bool? in
            guard let place = state.expected.firstIndex(where: { $0.client == client }) else { return nil }
            let isExpected = state.expected[place].method == index
            if isExpected, method != "End" {
                state.expected[place].method += 1
            } else {
                state.expected.remove(at: place)
            }
            return isExpected
        }
        guard let isExpected else { throw ErrorReply("\(CertificationInterface.name).ClientIdError") }
        var parameters = CertificationInterface.parameters(of: method)
        parameters["client_id"] = .string(client)
        let wants = Self.object(method, parameters, CertificationInterface.mode(of: method))
        let got = Self.object(method, Self.withoutNulls(call.parameters), call.mode)
        guard isExpected, wants == got else {
            throw ErrorReply(
                "\(CertificationInterface.name).CertificationError", parameters: ["wants": wants, "got": got])
        }
    }

    private static func object(_ method: String, _ parameters: JSONObject, _ mode: CallMessage.Mode) -> JSONValue {
        var object: JSONObject = ["method": .string(method), "parameters": .object(parameters)]
        switch mode {
        case .single: break
        case .more: object["more"] = true
        case .oneway: object["oneway"] = true
        case .upgrade: object["upgrade"] = true
        }
        return .object(object)
    }

    /// A field of the type with many that may be left out may be null as well.
    private static func withoutNulls(_ parameters: JSONObject) -> JSONObject {
        guard case .object(let type)? = parameters["mytype"] else { return parameters }
        var result = parameters
        result["mytype"] = .object(type.filter { !$0.value.isNull })
        return result
    }
}
