import MediatorControl
import StrictJSON
import Varlink

extension DefinitionTests {
    static let state = SystemState(name: "Full", data: ["percent": 97], cut: true)
    static let summary = SystemSummary(
        name: "disk",
        description: "text",
        health: .degraded,
        healthSince: "2026-01-02T03:04:05Z",
        healthReason: "text",
        healthReasonSince: "2026-01-02T03:04:05Z",
        state: state,
        since: "2026-01-02T03:04:05Z",
        counters: Counters(events: 1, transitions: 2, unhandled: 3, dropped: 4, faults: 5),
        effectsRunning: 1,
        effectsWaiting: 2,
        begins: "2026-01-02T03:04:06Z",
        waiting: 3,
        waitingBytes: 70_000,
        paused: Pause(since: "2026-01-02T03:04:07Z", uid: 1_000, user: "alice")
    )
    static let persistence = PersistenceStatus(
        stored: false, since: "2026-01-02T03:04:05Z", restored: "2026-01-01T03:04:05Z", reason: "the disk is full")
    static let store = StoreDescription(
        mode: .open, reason: "it is locked", directory: "/var/lib/mediatord-store/main", bytes: 49_152, life: 2,
        failedStarts: 1, closedInOrder: true, lastCommit: "2026-01-02T03:04:05Z", commits: 3, errors: 1, pending: 2,
        pendingSince: "2026-01-02T03:04:05Z", refused: 1, p50: 0.001, p99: 0.25, damage: ["it is damaged"],
        parts: [StoredPart(part: .bus, name: "alarms", configured: true, persistence: persistence)], leftOut: 4)
    static let system = SystemDescription(
        summary: summary,
        source: "disk.yaml:1",
        template: "disk@", instanceParameters: [Parameter(name: "path", type: "string", value: .string("/"))],
        kind: "disk",
        parameters: [Parameter(name: "device", type: "string", value: .string("sda"))],
        states: [
            StateType(
                name: "Full", fields: [Field(name: "percent", type: "int", expected: "between 0 and 100")],
                health: "degraded")
        ],
        events: [
            EventType(
                name: "Measured", fields: [Field(name: "percent", type: "int", expected: "between 0 and 100")])
        ],
        inputs: [Input(name: "allowed", type: "bool", value: .bool(true), links: ["allow"])],
        initialState: "Full",
        transitions: [
            Transition(from: "any", event: "Measured", to: "Full", condition: "event.percent > 90", hold: "1m")
        ],
        feedbacks: [
            FeedbackSummary(
                name: "probe", onState: "any", strategy: "cancelOnNewState", effect: "run df",
                next: "2026-01-02T03:04:05Z", lastResult: "onSuccess", lastResultTime: "2026-01-02T03:04:05Z",
                runningSince: "2026-01-02T03:04:05Z", missedTicks: 1,
                outcomes: [FeedbackOutcome(outcome: "onSuccess", event: "Measured", condition: "true")],
                reactions: ["onFailure": "log"], options: ["timeout": "5s"])
        ],
        links: ["tell"],
        lastFault: "none",
        lastFaultTime: "2026-11-21T10:00:00Z",
        supervision: Supervision(
            onFault: "restart", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "escalate"),
        group: GroupSummary(name: "storage", strategy: "rest", systems: ["disk", "backup"]),
        ready: Readiness(states: ["Idle"], within: "1m30s", otherwise: "restart"),
        watchdog: "2m", unhandled: "warn", mailbox: Mailbox(limit: 16, overflow: "fail"),
        persistence: persistence, waits: [wait], waitsLeftOut: 1
    )
    static let wait = Wait(
        system: "disk", kind: "debounce", feedback: "probe", key: .string("sda"), due: "2026-01-02T03:04:06Z",
        action: "run df")
    static let busSummary = BusSummary(
        name: "alarms",
        description: "text",
        kind: .currentValue,
        valueType: "string",
        value: "red",
        cut: true,
        since: "2026-01-02T03:04:05Z",
        published: 1,
        dropped: 2,
        readers: 3,
        writers: 4
    )
    static let bus = BusDescription(
        summary: busSummary,
        source: "bus.yaml:1",
        fields: [Field(name: "text", type: "string", expected: "a UUID")],
        limit: 16,
        overflow: "dropOldest",
        links: ["tell"],
        fromOutside: "both", persistence: persistence
    )
    static let linkSummary = LinkSummary(
        name: "tell",
        form: .systemToBus,
        system: "disk",
        bus: "alarms",
        toSystem: "other",
        description: "disk ── Full ──▶ bus alarms",
        fired: 1,
        lastFired: "2026-01-02T03:04:05Z",
        open: true,
        dropped: 2,
        origin: .changed
    )
    static let link = LinkDescription(
        summary: linkSummary, source: "x:1", condition: "true", emits: "red", limit: "10 per 1s", hops: 4,
        openBecause: "it would fire more often than 10 per 1s", faults: 2, lastFault: "2026-01-02T03:04:05Z")

    static let step = PlanStep(
        kind: .bus, name: "level", action: .change, value: .keep, reason: "its definition has changed",
        feedbacks: FeedbackChanges(
            goingOn: ["a"], ending: ["probe"], finishing: ["b"], refusing: ["c"], beginning: ["probe"]),
        changes: [
            PartChange(
                part: "value", change: .changed, old: "a.yaml:1:2", new: "a.yaml:2:2", oldValue: "int",
                newValue: "double")
        ], moreChanges: 1)
    static let diagnostic = ReportedDiagnostic(
        severity: "error", code: "unknown-key", location: "a.yaml:1:2", file: "a.yaml", line: 1, column: 2, length: 3,
        message: "it is wrong", hint: "it would be right", excerpt: "it",
        notes: [DiagnosticNote(file: "b.yaml", line: 4, column: 5, message: "it too")], text: "all of it")

    static let change = ChangeReply(
        valid: true, applied: true, generation: 2, summary: "1 kept", steps: [step], errors: 1, warnings: 2,
        diagnostics: [diagnostic], late: ["disk"], lateReasons: ["disk": "failed"], transient: ["tell"],
        file: WrittenFile(path: "a.yaml", text: "links: {}"))

    static let hop = CauseHop(
        kind: .feedback, time: "2026-01-02T03:04:05Z", system: "disk", state: "Full", previous: "Low",
        entered: "2026-01-02T03:04:04Z", event: "Measured", data: ["percent": 97], link: "tell", bus: "alarms",
        value: "red", feedback: "probe",
        outcome: "onSuccess",
        sent: "2026-01-02T03:04:05Z", who: "uid 0, process 7", replayed: true, text: "it did")
    static let candidate = CandidateTransition(
        from: "any", event: "Measured", to: "Full", condition: "event.percent > 90", source: "disk.yaml:1:2",
        holds: true, reason: "it is 97", field: "percent", fieldReason: "it fails", due: "2026-01-02T03:04:05Z")
    static let sender = Sender(
        kind: .link, name: "tell", description: "disk to alarms", source: "a.yaml:1:2", reasons: ["no"], waits: "for it"
    )
    static let traceGuard = TraceGuard(condition: "true", source: "a.yaml:1:2", holds: true, reason: "it is true")
    static let outcome = TraceOutcome(
        name: "onSuccess", result: ["output": "all"], time: "2026-01-02T03:04:05Z", retried: true,
        text: "it did")
    static let traceStep = TraceStep(
        kind: .run, time: "2026-01-02T03:04:05Z", ended: "2026-01-02T03:04:06Z", state: state, event: "Measured",
        data: ["percent": 97], entered: state, guards: [traceGuard], feedback: "probe", outcomes: [outcome], more: 1,
        reason: "why", number: 7, text: "it ran")

    /// Every method with its parameters and its reply, each field of them filled.
    static let methods: [(String, any Codable & Sendable, any Codable & Sendable)] = [
        (
            "Status", Nothing(),
            StatusReply(
                version: "1",
                pid: 2,
                started: "2026-01-02T03:04:05Z",
                health: .degraded,
                statusText: "text",
                configuration: ["/etc/mediatord"],
                generation: 3,
                underway: ChangeUnderway(since: "2026-01-02T03:04:05Z", link: "tell", waiting: 1),
                reload: ReloadVerdict(
                    time: "2026-01-02T03:04:05Z", applied: true, summary: "1 kept", link: "tell"),
                reloads: ReloadCounters(applied: 1, rejected: 2),
                transient: 3,
                systems: [summary],
                buses: 1,
                links: 1,
                injectInto: InjectionTargets(systems: ["disk"], buses: ["alarms"]),
                stopping: true,
                stops: [wait]
            )
        ),
        ("ListSystems", Nothing(), ListSystemsReply(systems: [summary])),
        ("DescribeSystem", NameParameters(name: "disk"), DescribeSystemReply(system: system)),
        ("ListBuses", Nothing(), ListBusesReply(buses: [busSummary])),
        ("DescribeBus", NameParameters(name: "alarms"), DescribeBusReply(bus: bus)),
        ("ListLinks", Nothing(), ListLinksReply(links: [linkSummary])),
        ("ListWaits", ListWaitsParameters(system: "disk"), ListWaitsReply(waits: [wait], leftOut: 1)),
        ("DescribeLink", NameParameters(name: "tell"), DescribeLinkReply(link: link)),
        (
            "WatchSystem", NameParameters(name: "disk"),
            WatchSystemReply(
                time: "2026-01-02T03:04:05Z",
                replayed: true,
                state: state,
                previous: "Low",
                event: "Measured",
                eventData: ["percent": 97],
                dropped: 1
            )
        ),
        (
            "WatchBus", NameParameters(name: "alarms"),
            WatchBusReply(time: "2026-01-02T03:04:05Z", replayed: false, value: "red", dropped: 1)
        ),
        (
            "Emit", EmitParameters(system: "disk", event: "Measured", data: ["percent": 1]),
            InjectionReply(time: "2026-01-02T03:04:05Z")
        ),
        (
            "Publish", PublishParameters(bus: "alarms", value: ["text": "x"]),
            InjectionReply(time: "2026-01-02T03:04:05Z")
        ),
        ("RestartSystem", NameParameters(name: "disk"), Nothing()),
        ("ResetSystem", NameParameters(name: "disk"), Nothing()),
        ("ReadMetrics", Nothing(), ReadMetricsReply(text: "x 1")),
        (
            "Plan", PlanParameters(directory: "/etc/mediatord", dropTransient: true, all: true),
            PlanReply(
                valid: true, summary: "1 kept", steps: [step], errors: 1, warnings: 2, diagnostics: [diagnostic],
                transient: ["tell"])
        ),
        (
            "Reload", ReloadParameters(dropTransient: true, all: true),
            ReloadReply(
                applied: true, generation: 2, summary: "1 kept", steps: [step], errors: 1, warnings: 2,
                diagnostics: [diagnostic], late: ["disk"], lateReasons: ["disk": "failed"], leftBehind: ["backup"],
                transient: ["tell"])
        ),
        (
            "ListChanges", Nothing(),
            ListChangesReply(changes: [TransientChange(link: "tell", kind: .attached, text: "links: {}")])
        ),
        (
            "AttachLink",
            AttachParameters(
                link: "tell", definition: "{}", settings: [Setting(key: "when", value: "true")], persist: true,
                dryRun: true, all: true), change
        ),
        ("DetachLink", DetachParameters(link: "tell", persist: true, dryRun: true, all: true), change),
        (
            "SetLink",
            SetParameters(
                link: "tell", settings: [Setting(key: "when", value: "true")], persist: true, dryRun: true, all: true),
            change
        ),
        (
            "ReadConfiguration", Nothing(),
            ReadConfigurationReply(path: "<control tell>", owner: "a.yaml", text: "links: {}", transient: true)
        ),
        ("PauseSystem", NameParameters(name: "disk"), PauseReply(changed: true)),
        ("ResumeSystem", NameParameters(name: "disk"), PauseReply(changed: false)),
        ("DescribeKinds", Nothing(), DescribeKindsReply(document: ["version": 1, "kinds": []])),
        ("ReadLogLevel", Nothing(), LogLevelReply(level: .debug, given: .info)),
        ("SetLogLevel", SetLogLevelParameters(level: .critical), LogLevelReply(level: .trace, given: .notice)),
        ("Why", NameParameters(name: "disk"), WhyReply(hops: [hop], cut: true, failing: "a")),
        (
            "WhyNot", WhyNotParameters(name: "disk", event: "Measured", data: ["percent": 97]),
            WhyNotReply(
                state: state, since: "2026-01-02T03:04:05Z", obstacle: "it is stopping", transitions: [candidate],
                otherStates: ["Idle"], opaque: true, senders: [sender], unknownSenders: ["on Idle"], detached: ["ring"])
        ),
        ("Trace", TraceParameters(name: "disk", limit: 5), TraceReply(steps: [traceStep])),
        (
            "Watch", WatchParameters(patterns: ["disk*"], condition: "true", limit: 5, period: "1s", announce: true),
            WatchReply(
                time: "2026-01-02T03:04:05Z", topic: .state, kind: .system, name: "disk", replayed: true, state: state,
                previous: "Low", event: "Measured", eventData: ["percent": 97], value: 1, dropped: 1, leftOut: 2)
        ),
        ("DescribeStore", Nothing(), DescribeStoreReply(store: store)),
        ("CheckStore", Nothing(), CheckStoreReply(states: 1, damage: ["it is damaged"])),
        (
            "ExportStore", Nothing(),
            ExportStoreReply(part: .bus, name: "alarms", ended: true, content: ["value": 1], damage: "it is damaged")
        ),
        ("ForgetStored", ForgetStoredParameters(part: .system, name: "disk"), Nothing()),
    ]
}
