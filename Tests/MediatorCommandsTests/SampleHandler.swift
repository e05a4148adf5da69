import Glibc
import MediatorCommands
import MediatorControl
import Synchronization
import Varlink

/// A small daemon that can only be talked to: two systems, three buses, one link.
final class SampleHandler: ControlHandler {
    private struct State {
        var emitted: [EmitParameters] = []
        var published: [PublishParameters] = []
        var changes: [String] = []
        var watches: [AsyncThrowingStream<WatchSystemReply, any Error>.Continuation] = []
    }

    private let state = Mutex(State())
    let health: Health

    init(health: Health = .healthy) {
        self.health = health
    }

    var emitted: [EmitParameters] { state.withLock { $0.emitted } }
    var published: [PublishParameters] { state.withLock { $0.published } }
    /// What was to be changed of links, as it was asked for.
    var changes: [String] { state.withLock { $0.changes } }

    /// Ends every watch.
    func endWatches(_ error: ControlError?) {
        let watches = state.withLock { state in
            defer { state.watches = [] }
            return state.watches
        }
        for watch in watches { watch.finish(throwing: error) }
    }

    static let steps = [
        PlanStep(kind: .system, name: "backup", fate: .keep),
        PlanStep(
            kind: .system, name: "disk-guard", fate: .restart,
            reason: "it is in the state 'Full', which there is no more",
            ending: ["probe"]),
        PlanStep(kind: .bus, name: "alarms", fate: .change, value: .keep, reason: "its definition has changed"),
    ]
    static let counters = Counters(events: 1234, transitions: 12, unhandled: 3, dropped: 0, faults: 0)

    var disk: SystemSummary {
        SystemSummary(
            name: "disk-guard",
            description: "Is a disk filling?",
            health: health,
            state: SystemState(name: "Full", data: ["percent": 97, "mount": "/var", "note": "nearly full"]),
            since: "2026-11-21T11:57:00Z",
            counters: Self.counters,
            effectsRunning: 1,
            effectsWaiting: 2
        )
    }

    let backup = SystemSummary(
        name: "backup",
        health: .stopped,
        state: SystemState(name: "Paused"),
        since: "2026-11-19T02:13:00.250Z",
        counters: Counters(events: 7, transitions: 2, unhandled: 0, dropped: 4, faults: 1, restarts: 2, resets: 1)
    )

    let buses = [
        BusSummary(
            name: "alarms",
            kind: .passthrough,
            valueType: "alarms",
            published: 3,
            dropped: 1,
            readers: 1,
            writers: 1
        ),
        BusSummary(
            name: "backup",
            description: "What the backup says",
            kind: .currentValue,
            valueType: "string",
            value: "off\u{1B}[31m",
            since: "2026-11-21T11:59:59Z",
            published: 1
        ),
        BusSummary(name: "temperature", kind: .currentValue, valueType: "double", value: 21.5),
    ]

    let link = LinkSummary(
        name: "tell-full",
        form: .systemToBus,
        system: "disk-guard",
        bus: "alarms",
        description: "disk-guard ── Full ──▶ bus alarms",
        fired: 1,
        lastFired: "2026-11-21T11:57:00Z"
    )

    func status(peer: VarlinkPeer) async throws -> StatusReply {
        StatusReply(
            version: "0.1.0",
            pid: 4242,
            started: "2026-11-21T09:00:00Z",
            health: health,
            statusText: "1 \(health.rawValue), 1 stopped",
            configuration: ["/etc/mediatord", "/run/mediatord"],
            reload: health == .degraded
                ? ReloadVerdict(time: "2026-11-21T11:57:00Z", applied: false, summary: "1 error", link: "ring") : nil,
            reloads: ReloadCounters(applied: 1, rejected: 2),
            transient: health == .degraded ? 2 : 0,
            systems: [backup, disk],
            buses: 3,
            links: 1
        )
    }

    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary] { [backup, disk] }

    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription {
        switch name {
        case "backup":
            SystemDescription(
                summary: backup,
                states: [StateType(name: "Paused")],
                events: [],
                initialState: "Paused",
                lastFault: "the expression 'a / b' divides by zero",
                supervision: Supervision(
                    onFault: "stop", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "stop")
            )
        case "disk-guard":
            SystemDescription(
                summary: disk,
                source: "/etc/mediatord/disk.yaml:1",
                states: [
                    StateType(name: "Unknown"),
                    StateType(
                        name: "Full",
                        fields: [
                            Field(name: "percent", type: "int"), Field(name: "mount", type: "string"),
                            Field(name: "note", type: "string"),
                        ]
                    ),
                ],
                events: [
                    EventType(name: "Reset"),
                    EventType(
                        name: "Measured",
                        fields: [
                            Field(name: "percent", type: "int"), Field(name: "mount", type: "string"),
                            Field(name: "within", type: "duration"),
                        ]
                    ),
                ],
                initialState: "Unknown",
                transitions: [
                    Transition(from: "any", event: "Measured", to: "Full", condition: "event.percent > 90"),
                    Transition(from: "Full", event: "Reset", to: "Unknown"),
                ],
                feedbacks: [
                    FeedbackSummary(
                        name: "probe",
                        onState: "any",
                        strategy: "continueOnNewState",
                        mode: "queued",
                        effect: "every 5s: run df --output=pcent",
                        running: 1,
                        waiting: 2,
                        next: "2026-11-21T12:00:04Z"
                    )
                ],
                links: ["tell-full"],
                supervision: Supervision(
                    onFault: "restart", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "stop"),
                group: GroupSummary(name: "storage", strategy: "rest", systems: ["disk-guard", "backup"])
            )
        default: throw ControlError.noSuchSystem(name: name, nearest: name.hasPrefix("disk") ? "disk-guard" : nil)
        }
    }

    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary] { buses }

    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription {
        guard let summary = buses.first(where: { $0.name == name }) else {
            throw ControlError.noSuchBus(name: name, nearest: nil)
        }
        return BusDescription(
            summary: summary,
            source: "/etc/mediatord/buses.yaml:3",
            fields: name == "alarms"
                ? [Field(name: "text", type: "string"), Field(name: "severity", type: "int")] : [],
            limit: 1024,
            overflow: "dropOldest",
            links: name == "alarms" ? ["tell-full"] : []
        )
    }

    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary] {
        guard health == .degraded else { return [link] }
        var changed = link
        changed.origin = .changed
        return [changed]
    }

    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription {
        guard name == link.name else { throw ControlError.noSuchLink(name: name, nearest: nil) }
        return LinkDescription(
            summary: link,
            source: "/etc/mediatord/buses.yaml:9",
            condition: "onState: Full",
            emits: #"{ text: "disk full", severity: 3 }"#
        )
    }

    func watchSystem(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchSystemReply, any Error>
    {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: WatchSystemReply.self,
            bufferingPolicy: .bufferingOldest(16)
        )
        continuation.yield(
            WatchSystemReply(time: "2026-11-21T11:57:00Z", replayed: true, state: SystemState(name: "Unknown"))
        )
        continuation.yield(
            WatchSystemReply(
                time: "2026-11-21T11:58:30Z",
                replayed: false,
                state: disk.state,
                previous: "Unknown",
                event: "Measured",
                eventData: ["percent": 97, "mount": "/var"],
                dropped: 2
            )
        )
        state.withLock { $0.watches.append(continuation) }
        return stream
    }

    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error> {
        AsyncThrowingStream { continuation in
            continuation.yield(WatchBusReply(time: "2026-11-21T11:59:59Z", replayed: true, value: 21.5))
            continuation.yield(WatchBusReply(time: "2026-11-20T10:00:00Z", replayed: false, value: ["a": [1, "b c"]]))
            continuation.finish(throwing: ControlError.watchEnded(name: name, reason: "the daemon is stopping"))
        }
    }

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws {
        guard parameters.event != "Reset" else {
            throw ControlError.notAccepted(name: parameters.system, reason: "its mailbox is full")
        }
        state.withLock { $0.emitted.append(parameters) }
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        guard name != "backup" else { throw ControlError.notAccepted(name: name, reason: "it is stopping") }
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String { "# TYPE x gauge\nx 1\n" }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        guard name != "backup" else {
            throw ControlError.notAccepted(name: name, reason: "it has ended on account of a fault; restart it")
        }
    }

    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        guard parameters.directory == nil else {
            return PlanReply(
                valid: false, summary: "1 error in the configuration", errors: 1, warnings: 0,
                findings: [
                    Finding(
                        severity: "error", code: "unknown-key", location: "a.yaml:1:1", message: "wrong",
                        text: "a.yaml:1:1: error: wrong\n  sytem: x\n  ^")
                ])
        }
        return PlanReply(valid: true, summary: "1 kept, 1 restarted; 1 bus changed", steps: Self.steps)
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        if parameters.dropTransient == true { return ReloadReply(applied: true, generation: 2, summary: "dropped") }
        return switch health {
        case .healthy:
            ReloadReply(applied: true, generation: 2, summary: "1 kept, 1 restarted; 1 bus changed", steps: Self.steps)
        case .failed:
            ReloadReply(applied: false, generation: 1, summary: "everything is being stopped")
        default:
            ReloadReply(
                applied: true, generation: 2, summary: "1 added", late: ["bad", "slow"],
                lateReasons: [
                    "bad": "failed: its state is 'Down'",
                    "slow": "not ready in time: its state is 'A', and it is ready in 'B'",
                ], leftBehind: ["old"])
        }
    }

    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange] {
        guard health == .degraded else { return [] }
        return [
            TransientChange(link: "tell-full", kind: .changed, text: "links:\n  tell-full:\n    when: true\n"),
            TransientChange(link: "ring", kind: .detached, text: "links:\n  ring: null\n"),
        ]
    }

    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        guard parameters.link != "tell-full" else { throw ControlError.linkExists(name: parameters.link) }
        if parameters.link == "there" {
            return ChangeReply(
                valid: true, applied: parameters.dryRun != true, changed: false, generation: 1,
                summary: "link 'there' is there already")
        }
        let settings = parameters.settings.map { "\($0.key)=\($0.value)" }
        return try change("\(parameters.definition ?? "none") \(settings)", parameters.persist, parameters.dryRun)
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        if parameters.link == "late" {
            throw ControlError.cannotPersist(path: "/a/90.yaml", reason: "'/a/95.yaml' is later", winner: "/a/95.yaml")
        }
        guard parameters.link == "tell-full" else {
            throw ControlError.noSuchLink(name: parameters.link, nearest: "tell-full")
        }
        guard parameters.persist != true else {
            throw ControlError.cannotPersist(path: "/etc/mediatord/x.yaml", reason: "Read-only file system")
        }
        return try change("detach", parameters.persist, parameters.dryRun)
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        if parameters.link == "away" { throw ControlError.linkDetached(name: parameters.link) }
        guard parameters.link == "tell-full" else {
            throw ControlError.linkOfInstances(name: parameters.link, link: "tell")
        }
        let settings = parameters.settings.map { "\($0.key)=\($0.value)" }
        return try change("\(settings)", parameters.persist, parameters.dryRun)
    }

    /// What becomes of a change, by the health of all: applied, rejected, or applied late.
    private func change(_ what: String, _ persists: Bool?, _ isDryRun: Bool?) throws -> ChangeReply {
        state.withLock { $0.changes.append(what) }
        let step = PlanStep(kind: .link, name: "tell-full", fate: .change, reason: "its definition has changed")
        guard health != .failed else {
            return ChangeReply(
                valid: false, applied: false, generation: 1, summary: "1 error in the configuration", errors: 1,
                findings: [
                    Finding(
                        severity: "error", code: "unknown-bus", location: "<control x>:1:1", message: "wrong",
                        text: "<control x>:1:1: error: wrong")
                ])
        }
        let file = WrittenFile(path: "/etc/mediatord/90-mediatorctl.yaml", text: "# Written\nlinks: {}\n")
        return ChangeReply(
            valid: true, applied: isDryRun != true, generation: 2, summary: "2 kept; 1 link changed", steps: [step],
            late: health == .starting ? ["slow"] : [], transient: persists == true ? [] : ["tell-full", "x"],
            file: persists == true ? file : nil)
    }

    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply] {
        [
            ReadConfigurationReply(
                path: "/etc/mediatord/a.yaml",
                text: "buses:\n  b: { kind: passthrough, value: int }\nlinks: { l: {} }\n"),
            ReadConfigurationReply(
                path: "<control l>", owner: "/etc/mediatord/a.yaml", text: "links:\n  l:\n    to: b\n", transient: true),
            ReadConfigurationReply(path: "<control m>", text: "links:\n  m:\n    to: b\n", transient: true),
        ]
    }

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws {
        state.withLock { $0.published.append(parameters) }
    }
}

/// A running daemon, and a user at a terminal who talks to it.
final class Bench: Sendable {
    /// What one command line brought.
    struct Result: Equatable {
        var status: CommandStatus
        var output: String
        var error: String
    }

    /// 2026-11-21T12:00:00Z
    static let now: Int64 = 1_795_262_400

    private let directory: String
    let handler: SampleHandler
    let service: VarlinkService
    var socket: String { directory + "/socket" }

    init(health: Health = .healthy, configure: (inout ServiceConfiguration) -> Void = { _ in }) async throws {
        var template = Array("/tmp/mediatorctl-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw VarlinkError(.system, "mkdtemp failed") }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        handler = SampleHandler(health: health)
        var configuration = ServiceConfiguration(vendor: "test", product: "test", version: "1", url: "test")
        configure(&configuration)
        service = try await VarlinkService.start(
            at: .path(directory + "/socket"),
            interfaces: [ControlService.interface(handler: handler)],
            configuration: configuration
        )
    }

    deinit { rmdir(directory) }

    /// Runs a command line against the daemon.
    ///
    /// - Parameters:
    ///   - columns: the width of the terminal; nil is no terminal.
    ///   - variables: the environment beside the socket's path.
    ///   - onWrite: called with every piece of output; throwing stands for a closed pipe.
    func run(
        _ arguments: String...,
        columns: Int? = nil,
        variables: [String: String] = [:],
        onWrite: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async -> Result {
        await Self.run(
            arguments,
            columns: columns,
            variables: variables.merging(["MEDIATORD_SOCKET": socket]) { first, _ in first },
            onWrite: onWrite
        )
    }

    static func run(
        _ arguments: [String],
        columns: Int? = nil,
        variables: [String: String] = [:],
        input: String = "",
        isTerminal: Bool = false,
        onWrite: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async -> Result {
        let output = Mutex("")
        let error = Mutex("")
        let environment = CommandEnvironment(
            variable: { variables[$0] },
            userID: 0,
            now: { now },
            localTime: CalendarTime.utc,
            isTerminal: isTerminal || columns != nil,
            columns: columns,
            write: { text in
                output.withLock { $0 += text }
                try onWrite(text)
            },
            writeError: { text in error.withLock { $0 += text } },
            readInput: { Array(input.utf8.prefix($0)) },
            endQuietlyWhenInterrupted: {}
        )
        let status = await Mediatorctl.run(arguments, in: environment)
        return Result(status: status, output: output.withLock { $0 }, error: error.withLock { $0 })
    }
}
