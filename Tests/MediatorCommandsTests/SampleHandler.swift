import MediatorControl
import StrictJSON
import Synchronization
import Varlink

/// A small daemon that can only be talked to: two systems, three buses, one link.
final class SampleHandler: ControlHandler {
    struct State {
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
        /// The data of the state of disk-guard, if it is not the usual.
        var data: JSONObject?
    }

    let state = Mutex(State())

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

    /// Puts disk-guard in a state with other data.
    func hold(_ data: JSONObject) { state.withLock { $0.data = data } }

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

    static let counters = Counters(events: 1234, transitions: 12, unhandled: 3, dropped: 0, faults: 0)

    var disk: SystemSummary {
        SystemSummary(
            name: "disk-guard",
            description: "Is a disk filling?",
            health: health,
            state: SystemState(
                name: "Full",
                data: state.withLock { $0.data } ?? ["percent": 97, "mount": "/var", "note": "nearly full"]),
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

    let waits = ListWaitsReply(
        waits: [
            Wait(
                system: "disk-guard", kind: "debounce", feedback: "probe", key: "sda1", due: "2026-11-21T12:00:03.2Z",
                action: "debounce 5s: run df --output=pcent"),
            Wait(system: "backup", kind: "restart", due: "2026-11-21T14:00:00Z", action: "begin anew"),
        ], leftOut: 3)

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
                    Parameter(name: "pause", type: "duration", value: "1800s"),
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
                        ],
                        reactions: ["onTimeout": "degrade"],
                        options: ["timeout": "5s", "retry": "2 × after 1s"]
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

    func listWaits(_ parameters: ListWaitsParameters, peer: VarlinkPeer) async throws -> ListWaitsReply {
        waits
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
}
