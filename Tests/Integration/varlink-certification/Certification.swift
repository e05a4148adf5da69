import Glibc
import StrictJSON
import Varlink

/// `varlink-certification serve [ADDRESS]` is a service of `org.varlink.certification`, without an address at the socket it
/// was started for; `varlink-certification call ADDRESS` is a client of one, and says `Certification passed`.
@main
struct Certification {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch (arguments.first, arguments.dropFirst().first) {
        case ("serve", let address): try await serve(address)
        case ("call", let address?): try await call(try VarlinkAddress(address))
        default:
            fail("usage: varlink-certification serve [ADDRESS] | call ADDRESS", 2)
        }
    }

    /// Writes the problem to standard error, and exits.
    private static func fail(_ message: String, _ code: Int32) -> Never {
        let bytes = Array("\(message)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
        exit(code)
    }

    /// Serves until the process is ended.
    private static func serve(_ text: String?) async throws {
        let address: ServiceAddress
        if let text {
            switch try VarlinkAddress(text) {
            case .path(let path): address = .path(path)
            case .abstract(let name): address = .abstract(name)
            }
        } else {
            guard let activated = try ActivationSockets.take().address() else {
                fail("varlink-certification was started for no socket; name an address", 2)
            }
            address = activated
        }
        let configuration = ServiceConfiguration(
            vendor: "mediatord", product: "certification", version: "1", url: "https://varlink.org")
        let service = try await VarlinkService.start(
            at: address, interfaces: [try CertificationService().implementation()], configuration: configuration)
        // The line for which the tests wait.
        print("serving")
        fflush(nil)
        let never = AsyncStream<Void> { _ in }
        for await _ in never {}
        await service.close()
    }

    /// Makes every call, each with what the one before has brought.
    private static func call(_ address: VarlinkAddress) async throws {
        let client = try await VarlinkClient.connect(to: address)
        let name = CertificationInterface.name
        var last = try await client.call("\(name).Start")
        let identifier = last["client_id"] ?? nil
        for method in CertificationInterface.methods.dropFirst() {
            if method == "Test11" || method == "Test01" || method == "End" {
                if method != "Test11" { last = [:] }
            } else {
                last = last.filter { $0.key != "client_id" }
            }
            last["client_id"] = identifier
            switch CertificationInterface.mode(of: method) {
            case .more:
                var replies: [JSONValue] = []
                for try await reply in try await client.callMore("\(name).\(method)", parameters: last) {
                    replies.append(reply["string"] ?? nil)
                }
                last = ["last_more_replies": .array(replies)]
            case .oneway: try await client.oneway("\(name).\(method)", parameters: last)
            default: last = try await client.call("\(name).\(method)", parameters: last)
            }
        }
        await client.close()
        guard last["all_ok"] == true else {
            fail("The service is not content: \(JSONValue.object(last))", 1)
        }
        // The line that the tests read, like that of python-varlink's own client.
        print("Certification passed")
    }
}
