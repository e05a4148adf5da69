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
        var watchers: [AsyncThrowingStream<WatchReply, any Error>.Continuation] = []
        var watched: [WatchParameters] = []
        /// Whether watches that are to announce themselves do nothing at all.
        var isSilent = false
        var traces = 0
        var refusals = 0
        /// The time at which an event or a value was accepted, if the daemon reports it.
        var taken: String?
    }

    private let state = Mutex(State())
    let health: Health

    init(health: Health = .healthy) {
        self.health = health
    }

    var emitted: [EmitParameters] { state.withLock { $0.emitted } }
    var published: [PublishParameters] { state.withLock { $0.published } }
    /// The parameters of watches.
    var watched: [WatchParameters] { state.withLock { $0.watched } }

    /// Has watches that are to announce themselves do nothing at all.
    func beSilent() { state.withLock { $0.isSilent = true } }
    /// The changes of links, as they were requested.
    var changes: [String] { state.withLock { $0.changes } }

    /// The number of events to reject, as a daemon that is stopping does.
    func refuseEvents(_ count: Int) { state.withLock { $0.refusals = count } }

    /// The time at which events and values are accepted; nil for a daemon that does not report it.
    func take(at time: String?) { state.withLock { $0.taken = time } }

    /// The next trace is the first.
    func forgetTraces() { state.withLock { $0.traces = 0 } }

    /// Ends every watch.
    func endWatches(_ error: ControlError?) {
        let watches = state.withLock { state in
            defer { state.watches = [] }
            return state.watches
        }
        for watch in watches { watch.finish(throwing: error) }
    }

    private static func steps(_ all: Bool?) -> [PlanStep] {
        (all == true ? [PlanStep(kind: .system, name: "backup", fate: .keep)] : []) + changes
    }

    private static let changes = [
        PlanStep(
            kind: .system, name: "disk-guard", fate: .restart,
            reason: "it is in the state 'Full', which there is no more",
            ending: ["probe"]),
        PlanStep(
            kind: .bus, name: "alarms", fate: .change, value: .keep, reason: "its definition has changed",
            changes: [
                PartChange(part: "value", change: .changed, old: "a.yaml:3:10", new: "a.yaml:4:10"),
                PartChange(part: "initial", change: .removed, old: "a.yaml:4:12"),
                PartChange(part: "limit or overflow", change: .changed),
            ], moreChanges: 2),
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
            effectsWaiting: 2,
            paused: health == .degraded ? Pause(since: "2026-11-21T11:58:00Z", uid: 1000, user: "alice") : nil
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
            underway: health == .degraded
                ? ChangeUnderway(since: "2026-11-21T11:59:00Z", link: "ring", waiting: 1) : nil,
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
                    onFault: "stop", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "stop"),
                unhandled: "warn",
                mailbox: Mailbox(limit: 1024, overflow: "dropOldest")
            )
        case "disk-guard":
            SystemDescription(
                summary: disk,
                source: "/etc/mediatord/disk.yaml:1",
                kind: "disk",
                parameters: [
                    Parameter(name: "mounts", type: "list(string)", value: .array([.string("/"), .string("/var")])),
                    Parameter(name: "share", type: "optional(string)", value: nil),
                    Parameter(name: "token", type: "string", value: nil, isConcealed: true),
                ],
                states: [
                    StateType(name: "Unknown"),
                    StateType(
                        name: "Full",
                        fields: [
                            Field(name: "percent", type: "int"), Field(name: "mount", type: "string"),
                            Field(name: "note", type: "string"),
                        ],
                        health: "degraded"
                    ),
                ],
                events: [
                    EventType(name: "Reset"),
                    EventType(
                        name: "Measured",
                        fields: [
                            Field(name: "percent", type: "int", expected: "between 0 and 100"),
                            Field(name: "mount", type: "string"),
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
                        next: "2026-11-21T12:00:03.2Z",
                        outcomes: [
                            FeedbackOutcome(
                                outcome: "onSuccess", event: "Measured", condition: "result.exitCode == 0"),
                            FeedbackOutcome(outcome: "onFailure", event: "Reset"),
                        ]
                    )
                ],
                links: ["tell-full"],
                supervision: Supervision(
                    onFault: "restart", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "stop"),
                group: GroupSummary(name: "storage", strategy: "rest", systems: ["disk-guard", "backup"]),
                ready: Readiness(states: ["Idle"], within: "1m30s", otherwise: "restart"),
                watchdog: "2m",
                mailbox: Mailbox(limit: 64, overflow: "fail")
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
            links: name == "alarms" ? ["tell-full"] : [],
            fromOutside: name == "alarms" ? "both" : nil
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
            emits: #"{ text: "disk full", severity: 3 }"#,
            limit: "10 per 1s",
            hops: 16,
            openBecause: link.open ? "it would fire more often than 10 per 1s" : nil
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

    /// The explanations of the disk guard, of the temperature, and of all together.
    func watch(
        _ parameters: WatchParameters, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchReply, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: WatchReply.self, bufferingPolicy: .bufferingOldest(16))
        guard parameters.condition != "state.x" else {
            throw ControlError.invalidValue(path: "where", expected: "bool", message: "column 7: there is no 'x'")
        }
        if parameters.announce == true {
            let isSilent = state.withLock { state in
                guard state.isSilent else { return false }
                state.watched.append(parameters)
                state.watchers.append(continuation)
                return true
            }
            if isSilent { return stream }
            continuation.yield(WatchReply(time: "2026-11-21T11:59:59Z", topic: .watching))
        }
        func isMeant(_ kind: PartKind, _ name: String) -> Bool {
            parameters.patterns.isEmpty || parameters.patterns.contains { PartPattern($0).matches(kind, name) }
        }
        if isMeant(.system, "disk-guard") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:57:00Z", topic: .state, kind: .system, name: "disk-guard", replayed: true,
                    state: SystemState(name: "Unknown")))
        }
        if isMeant(.bus, "temperature") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:59:59Z", topic: .value, kind: .bus, name: "temperature", replayed: true,
                    value: 21.5))
        }
        if isMeant(.system, "disk-guard") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:58:30Z", topic: .state, kind: .system, name: "disk-guard", state: disk.state,
                    previous: "Unknown", event: "Measured", eventData: ["percent": 97, "mount": "/var"], dropped: 2))
        }
        if isMeant(.link, "tell-full") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:58:30Z", topic: .fired, kind: .link, name: "tell-full",
                    value: ["text": "full"]))
        }
        if parameters.patterns.isEmpty {
            for topic in [WatchTopic.ended, .began] {
                continuation.yield(
                    WatchReply(time: "2026-11-21T11:59:00Z", topic: topic, kind: .system, name: "backup"))
            }
            continuation.yield(WatchReply(time: "2026-11-21T11:59:01Z", topic: .leftOut, leftOut: 12))
        }
        if isMeant(.bus, "temperature") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-20T10:00:00Z", topic: .value, kind: .bus, name: "temperature",
                    value: ["a": [1, "b c"]]))
        }
        if parameters.patterns == ["bus:temperature"] {
            continuation.finish(
                throwing: ControlError.watchEnded(name: "bus:temperature", reason: "the daemon is stopping"))
        }
        state.withLock { state in
            state.watched.append(parameters)
            state.watchers.append(continuation)
        }
        return stream
    }

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        guard parameters.event != "Reset" else {
            throw ControlError.notAccepted(name: parameters.system, obstacle: .full, reason: "its mailbox is full")
        }
        let isRefused = state.withLock { state in
            defer { state.refusals = max(0, state.refusals - 1) }
            if state.refusals == 0 { state.emitted.append(parameters) }
            return state.refusals > 0
        }
        if isRefused {
            throw ControlError.notAccepted(name: parameters.system, obstacle: .stopping, reason: "it is stopping")
        }
        return InjectionReply(time: state.withLock { $0.taken })
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(name: name, obstacle: .stopping, reason: "it is stopping")
        }
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String { "# TYPE x gauge\nx 1\n" }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(
                name: name, obstacle: .ended, reason: "it has ended on account of a fault; restart it")
        }
    }

    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(name: name, obstacle: .stopping, reason: "it is stopping")
        }
        return PauseReply(changed: health != .degraded)
    }

    func resumeSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        _ = try await describeSystem(name, peer: peer)
        return PauseReply(changed: health != .starting)
    }

    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply {
        let speaker = #"{"name":"speaker","parameters":[],"states":[{"name":"On"}],"events":[{"name":"Louder"}]}"#
        return DescribeKindsReply(document: try JSONValue(parsing: "{\"version\":1,\"kinds\":[\(speaker)]}"))
    }

    func readLogLevel(peer: VarlinkPeer) async throws -> LogLevelReply { LogLevelReply(level: .info, given: .info) }

    func setLogLevel(_ parameters: SetLogLevelParameters, peer: VarlinkPeer) async throws -> LogLevelReply {
        LogLevelReply(level: parameters.level ?? .info, given: .info)
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
        return PlanReply(valid: true, summary: "1 kept, 1 restarted; 1 bus changed", steps: Self.steps(parameters.all))
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        if parameters.dropTransient == true { return ReloadReply(applied: true, generation: 2, summary: "dropped") }
        return switch health {
        case .healthy:
            ReloadReply(
                applied: true, generation: 2, summary: "1 kept, 1 restarted; 1 bus changed",
                steps: Self.steps(parameters.all))
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

    /// The result of a change, by the health of all: applied, rejected, or applied late.
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

    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply {
        let down: JSONObject = ["reason": "no answer"]
        return WhyReply(
            hops: [
                CauseHop(
                    kind: .state, time: "2026-11-21T11:57:00Z", system: name, state: "Paused",
                    text: "\(name) is in Paused"),
                CauseHop(
                    kind: .event, time: "2026-11-21T11:57:00Z", system: name, event: "Pause",
                    text: "by the event Pause"),
                CauseHop(
                    kind: .link, time: "2026-11-21T11:57:00Z", link: "pause", bus: "uplink",
                    text: "which the link pause made of a value of the bus uplink"),
                CauseHop(
                    kind: .value, time: "2026-11-21T11:57:00Z", bus: "uplink", value: "down\u{1B}[31m",
                    text: "the bus uplink got \"down\u{1B}[31m\""),
                CauseHop(
                    kind: .link, time: "2026-11-21T11:57:00Z", link: "tell", bus: "uplink",
                    text: "put there by the link tell"),
                CauseHop(
                    kind: .state, time: "2026-11-21T11:56:58Z", system: "uplink", state: "Down", data: down,
                    text: "uplink was in Down { reason: \"no answer\" }"),
                CauseHop(
                    kind: .client, time: "2026-11-21T11:56:58Z", who: "uid 0, process 7",
                    text: "emitted by a client (user 0, process 7)"),
            ], cut: health == .degraded)
    }

    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply {
        let isKnown = parameters.data?.isEmpty == false
        if parameters.data == ["percent": 80] {
            let reason = "state.percent / event.step — error: 97 / 0: division by zero, event.step is 0"
            return WhyNotReply(
                state: disk.state, since: disk.since,
                transitions: [
                    Candidate(
                        from: "Full", event: "Measured", to: "Idle", condition: "event.percent < 90",
                        source: "disk.yaml:12:9", holds: true, fails: health != .degraded,
                        reason: "event.percent < 90 — true, event.percent is 80", field: "share",
                        fieldReason: health == .degraded ? "it depends on event.step" : reason)
                ])
        }
        return WhyNotReply(
            state: disk.state, since: disk.since, obstacle: health == .degraded ? "it is stopping" : nil,
            transitions: parameters.event == "Reset"
                ? []
                : [
                    Candidate(
                        from: "Full", event: "Measured", to: "Idle", condition: "event.percent < 90",
                        source: "disk.yaml:12:9", holds: isKnown ? false : nil,
                        reason: isKnown
                            ? "event.percent < 90 — false, event.percent is 95" : "it depends on event.percent"),
                    Candidate(
                        from: "any", event: "Measured", to: "stay", source: "disk.yaml:14:9",
                        holds: isKnown ? true : nil,
                        reason: isKnown ? nil : "not tried, since one before it may hold"),
                ], otherStates: parameters.event == "Reset" ? ["Idle", "Filling"] : [],
            senders: parameters.event == "Reset"
                ? []
                : [
                    Sender(
                        kind: .link, name: "measure", description: "bus sizes → disk-guard", source: "a.yaml:3:3",
                        reasons: ["value > 3 — false, value is 2"],
                        waits: "it fires at each value of the bus sizes; it fired last at 2026-11-21T11:57:00Z"),
                    Sender(
                        kind: .feedback, name: "probe", description: "every 5s: run df", source: "disk.yaml:5:3",
                        waits: "it emits it on onSuccess; its time is at 2026-11-21T12:00:03.5Z"),
                ], detached: health == .degraded ? ["ring"] : [])
    }

    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply {
        func outcome(_ time: String, _ text: String) -> TraceOutcome {
            TraceOutcome(name: "onLine", result: ["line": "x"], time: time, text: "the feedback follow in Idle \(text)")
        }
        let count = state.withLock { state in
            state.traces += 1
            return state.traces
        }
        var steps = [
            TraceStep(kind: .began, time: "2026-11-19T02:13:00Z", text: "began in Idle"),
            TraceStep(
                kind: .transition, time: "2026-11-21T11:57:00Z", event: "Measured", data: ["percent": 97],
                guards: [
                    TraceGuard(
                        condition: "event.percent < 90", source: "disk.yaml:12:9", holds: false,
                        reason: "event.percent < 90 — false, event.percent is 97"),
                    TraceGuard(
                        condition: "event.percent > 95", source: "disk.yaml:13:9", holds: true,
                        reason: "event.percent > 95 — true, event.percent is 97"),
                ], text: "Idle → Full { percent: 97 } on Measured { percent: 97 }"),
            TraceStep(
                kind: .run, time: "2026-11-21T11:56:00Z", ended: "2026-11-21T11:58:30Z", feedback: "follow",
                outcomes: [
                    outcome("2026-11-21T11:56:30Z", "came after 30s to onLine { line: \"x\" }"),
                    outcome("2026-11-21T11:58:00Z", "came after 2m to onLine { line: \"y\" }"),
                ], more: 1, text: "all of it"),
            TraceStep(kind: .dropped, time: "2026-11-21T11:59:00Z", text: "dropped Reset: mailboxFull\u{1B}[0m"),
        ]
        if count > 1 {
            steps.append(TraceStep(kind: .resumed, time: "2026-11-21T11:59:30Z", text: "resumed by root after 1m3s"))
        }
        return TraceReply(steps: steps.suffix(parameters.limit ?? steps.count))
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

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        state.withLock { $0.published.append(parameters) }
        return InjectionReply(time: state.withLock { $0.taken })
    }
}

/// A running daemon, and a user at a terminal who talks to it.
final class Bench: Sendable {
    /// The output of one command line.
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
        isJournal: Bool = false,
        completionLimit: Duration = .seconds(120),
        clock: any Clock<Duration> = ContinuousClock(),
        outerUserID: UInt32? = nil,
        onWrite: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async -> Result {
        let output = Mutex("")
        let error = Mutex("")
        var environment = CommandEnvironment(
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
        environment.completionLimit = completionLimit
        // All tests run beside each other.
        environment.answerLimit = 600
        environment.clock = clock
        environment.isJournal = isJournal
        environment.outerUserID = outerUserID
        let status = await Mediatorctl.run(arguments, in: environment)
        return Result(status: status, output: output.withLock { $0 }, error: error.withLock { $0 })
    }
}
