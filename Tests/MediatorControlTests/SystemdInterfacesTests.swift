import MediatorControl
import StrictJSON
import Synchronization
import Testing
import Varlink

/// systemd's interfaces as this daemon serves them, over a connection in memory.
@Suite(.timeLimit(.minutes(5)))
struct SystemdInterfacesTests {
    private static let families = [
        MetricsInterface.Family(name: "io.mediatord.a_total", description: "How many.", type: .counter),
        MetricsInterface.Family(name: "io.mediatord.b", description: "How much.", type: .gauge),
    ]
    private static let metrics = [
        MetricsInterface.Metric(
            name: "io.mediatord.a_total", value: 1, object: "disk", fields: ["kind": .string("x")]),
        MetricsInterface.Metric(name: "io.mediatord.b", value: 1.5),
    ]

    /// The calls.
    private final class Asked: Sendable {
        let all = Mutex<[String]>([])
        func note(_ text: String) { all.withLock { $0.append(text) } }
    }

    private func service(_ asked: Asked, isEmpty: Bool = false) async throws -> VarlinkService {
        let managed = try ManagedServiceInterface.implementation(
            reload: { peer in
                asked.note("reload by \(peer.userID)")
                if peer.userID == 13 {
                    throw ControlError.notAccepted(name: "configuration", obstacle: .other, reason: "it is wrong")
                }
            },
            setLogLevel: { level, peer in asked.note("level \(level) by \(peer.userID)") })
        let metrics = try MetricsInterface.implementation { isEmpty ? ([], []) : (Self.families, Self.metrics) }
        return try await VarlinkService.start(
            at: .nowhere, interfaces: [managed, metrics],
            configuration: ServiceConfiguration(vendor: "v", product: "p", version: "1", url: "u"))
    }

    @Test(arguments: [ManagedServiceInterface.definition, MetricsInterface.definition])
    func `a definition parses, prints as it is written and documents everything`(text: String) throws {
        let definition = try InterfaceDefinition(parsing: text)
        #expect(definition.description == text)
        for member in definition.members {
            switch member {
            case .type(let type): #expect(!type.documentation.isEmpty)
            case .method(let method): #expect(!method.documentation.isEmpty)
            case .error(let error): #expect(!error.documentation.isEmpty)
            }
        }
    }

    @Test func `a service is pinged, reloaded and told what to log`() async throws {
        let asked = Asked()
        let service = try await service(asked)
        let client = try await service.connect(as: VarlinkPeer(processID: 1, userID: 2, groupID: 3))
        let name = ManagedServiceInterface.name
        #expect(try await client.call("\(name).Ping") == [:])
        #expect(try await client.call("\(name).Reload") == [:])
        for level in 0...7 {
            let parameters = ManagedServiceInterface.SetLogLevelParameters(level: level)
            let _: Nothing = try await client.call("\(name).SetLogLevel", parameters)
        }
        for level in [-1, 8, 1.5, "info", nil] as [JSONValue] {
            await #expect(throws: ServiceError.invalidParameter(parameter: "level").errorReply) {
                try await client.call("\(name).SetLogLevel", parameters: ["level": level])
            }
        }
        #expect(asked.all.withLock { $0 } == ["reload by 2"] + (0...7).map { "level \($0) by 2" })
        let other = try await service.connect(as: VarlinkPeer(processID: 1, userID: 13, groupID: 3))
        await #expect(
            throws: ControlError.notAccepted(name: "configuration", obstacle: .other, reason: "it is wrong").errorReply
        ) {
            try await other.call("\(name).Reload")
        }
        await service.close()
    }

    @Test func `metrics and their families are streamed`() async throws {
        let service = try await service(Asked())
        let client = try await service.connect()
        var metrics: [MetricsInterface.Metric] = []
        for try await metric: MetricsInterface.Metric in try await client.callMore(
            "\(MetricsInterface.name).List", Nothing())
        {
            metrics.append(metric)
        }
        #expect(metrics == Self.metrics)
        var families: [MetricsInterface.Family] = []
        for try await family: MetricsInterface.Family in try await client.callMore(
            "\(MetricsInterface.name).Describe", Nothing())
        {
            families.append(family)
        }
        #expect(families == Self.families)
        for method in ["List", "Describe"] {
            await #expect(throws: ServiceError.expectedMore.errorReply) {
                try await client.call("\(MetricsInterface.name).\(method)")
            }
        }
        await service.close()
    }

    @Test func `where there are no metrics, that is an error`() async throws {
        let service = try await service(Asked(), isEmpty: true)
        let client = try await service.connect()
        for method in ["List", "Describe"] {
            await #expect(throws: ErrorReply("\(MetricsInterface.name).NoSuchMetric")) {
                for try await _ in try await client.callMore("\(MetricsInterface.name).\(method)") {}
            }
        }
        await service.close()
    }

    @Test func `the kinds of families are the declared ones`() throws {
        let definition = try InterfaceDefinition(parsing: MetricsInterface.definition)
        guard case .enumeration(let values)? = definition.type(named: "MetricFamilyType") else {
            Issue.record("no enumeration")
            return
        }
        #expect(MetricsInterface.FamilyType.allCases.map(\.rawValue) == values.map(\.name))
    }
}
