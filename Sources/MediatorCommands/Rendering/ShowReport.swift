import MediatorControl
import Varlink

/// The answer of `show`: a system, a bus or a link.
enum ShowReport: Report {
    case system(SystemDescription)
    case bus(BusDescription)
    case link(LinkDescription)

    /// The answer of the interface: one member, named after the kind.
    func encode(to encoder: any Encoder) throws {
        switch self {
        case .system(let system): try DescribeSystemReply(system: system).encode(to: encoder)
        case .bus(let bus): try DescribeBusReply(bus: bus).encode(to: encoder)
        case .link(let link): try DescribeLinkReply(link: link).encode(to: encoder)
        }
    }

    func text(_ style: TextStyle) -> String {
        switch self {
        case .system(let system): Self.text(system, style)
        case .bus(let bus): Self.text(bus, style)
        case .link(let link): Self.text(link, style)
        }
    }

    private static func text(_ system: SystemDescription, _ style: TextStyle) -> String {
        let summary = system.summary
        let counters = summary.counters
        var text = Sheet(style).text(
            title: "system \(summary.name)",
            description: summary.description,
            [
                ("template", system.template.map(PlainText.cleaned)),
                ("kind", system.kind.map(PlainText.cleaned)),
                ("health", SystemTable.health(summary, style)),
                ("paused", summary.paused.map { Self.pause($0, summary, style) }),
                ("state", StateText.text(summary.state, style)),
                ("since", style.moment(summary.since)),
                ("durable", system.persistence.map { PersistenceText.text($0, style) }),
                (
                    "counters",
                    "\(Count.text(counters.events, "event", "events")), "
                        + "\(Count.text(counters.transitions, "transition", "transitions")), "
                        + (counters.updates > 0 ? Count.text(counters.updates, "update", "updates") + ", " : "")
                        + "\(counters.unhandled) unhandled, \(counters.dropped) dropped, "
                        + Count.text(counters.faults, "fault", "faults")
                        + (counters.failures > 0
                            ? ", \(Count.text(counters.failures, "failure", "failures")) without a rule" : "")
                        + (counters.restarts > 0 ? ", " + Count.text(counters.restarts, "restart", "restarts") : "")
                        + (counters.resets > 0 ? ", " + Count.text(counters.resets, "reset", "resets") : "")
                ),
                ("mailbox", Self.mailbox(system)),
                ("unhandled", system.unhandled.flatMap { $0 == "ignore" ? nil : PlainText.cleaned($0) }),
                ("effects", "\(summary.effectsRunning) running, \(summary.effectsWaiting) waiting"),
                ("on faults", PlainText.cleaned(Self.supervision(system.supervision))),
                ("ready", system.ready.map { PlainText.cleaned(Self.readiness($0)) }),
                ("watchdog", system.watchdog.map(PlainText.cleaned)),
                ("group", system.group.map { PlainText.cleaned(Self.group($0)) }),
                (
                    "last fault",
                    system.lastFault.map { fault in
                        (system.lastFaultTime.map { style.moment($0) + ": " } ?? "")
                            + style.colored(PlainText.cleaned(fault), .red)
                    }
                ),
                ("links", system.links.isEmpty ? nil : PlainText.cleaned(system.links.joined(separator: ", "))),
                ("source", system.source.map(PlainText.cleaned)),
            ]
        )
        for (title, given) in [("parameters", system.instanceParameters ?? []), ("with", system.parameters ?? [])] {
            let rows = given.map { parameter -> [Table.Cell] in
                [.init(parameter.name), .init(parameter.type), .init(style.value(of: parameter))]
            }
            text += section(
                title, Table([.text("PARAMETER"), .flexible("TYPE"), .flexible("VALUE")], rows: rows),
                isEmpty: given.isEmpty, style)
        }
        text += section(
            "states",
            Table(
                [.text("STATE"), .text(""), .flexible("FIELDS")],
                rows: system.states.map { state in
                    [
                        .init(state.name, state.name == summary.state.name ? .bold : nil),
                        .init(marks(state.name, system)),
                        .init(Self.fields(state.fields)),
                    ]
                }
            ),
            isEmpty: system.states.isEmpty,
            style
        )
        text += section(
            "events",
            Table(
                [.text("EVENT"), .flexible("FIELDS")],
                rows: system.events.map { [.init($0.name), .init(Self.fields($0.fields))] }
            ),
            isEmpty: system.events.isEmpty,
            style
        )
        text += section(
            "inputs",
            Table(
                [.text("INPUT"), .text("TYPE"), .flexible("VALUE"), .flexible("SET BY")],
                rows: (system.inputs ?? []).map {
                    [
                        .init($0.name), .init($0.type), .init(style.value($0.value)),
                        .init($0.links.joined(separator: ", ")),
                    ]
                }
            ),
            isEmpty: system.inputs?.isEmpty ?? true,
            style
        )
        text += section(
            "transitions",
            Table(
                [.text("FROM"), .text("ON"), .text("TO"), .flexible("WHEN")],
                rows: system.transitions.map {
                    [.init($0.from), .init($0.event), .init($0.to), .init(Self.condition($0))]
                }
            ),
            isEmpty: system.transitions.isEmpty,
            style
        )
        let hasNext = system.feedbacks.contains { $0.next != nil }
        text += section(
            "feedbacks",
            Table(
                [
                    .text("FEEDBACK"), .text("ON STATE"), .flexible("STRATEGY"), .number("RUNNING"), .number("WAITING"),
                ] + (hasNext ? [.flexible("NEXT")] : []) + [.flexible("EFFECT"), .flexible("OPTIONS")],
                rows: system.feedbacks.map { feedback in
                    [
                        .init(feedback.name), .init(feedback.onState), .init(Self.handling(feedback)),
                        .init(String(feedback.running)), .init(String(feedback.waiting)),
                    ] + (hasNext ? [.init(feedback.next.map(style.coming) ?? "")] : [])
                        + [.init(feedback.effect), .init(Self.options(feedback))]
                }
            ),
            isEmpty: system.feedbacks.isEmpty,
            style
        )
        let told = system.feedbacks.filter { $0.lastResult != nil || $0.runningSince != nil }
        text += section(
            "results",
            Table(
                [
                    .text("FEEDBACK"), .flexible("LAST RESULT"), .time("AT"), .time("RUNNING SINCE"),
                    .number("MISSED TICKS"),
                ],
                rows: told.map { feedback in
                    [
                        .init(feedback.name), .init(feedback.lastResult ?? ""),
                        .init(feedback.lastResultTime.map(style.moment) ?? ""),
                        .init(feedback.runningSince.map(style.moment) ?? ""),
                        .init(feedback.missedTicks.map(String.init) ?? ""),
                    ]
                }
            ),
            isEmpty: told.isEmpty,
            style
        )
        // The waits of schedules without keys are in the column NEXT.
        let waits = (system.waits ?? []).filter { !$0.isOfSchedule || $0.key != nil }
        text += section("waits", WaitsReport.table(waits, style, withSystem: false), isEmpty: waits.isEmpty, style)
        text += WaitsReport.rest(system.waitsLeftOut ?? 0)
        let outcomes = system.feedbacks.flatMap(outcomeRows)
        text += section(
            "outcomes",
            Table([.text("FEEDBACK"), .text("OUTCOME"), .text("EMITS"), .flexible("WHEN")], rows: outcomes),
            isEmpty: outcomes.isEmpty,
            style
        )
        return text
    }

    /// The events that outcomes of a feedback emit, and the reactions to failures for which no rule makes an event.
    private static func outcomeRows(_ feedback: FeedbackSummary) -> [[Table.Cell]] {
        feedback.outcomes.map { outcome in
            [.init(feedback.name), .init(outcome.outcome), .init(outcome.event), .init(outcome.condition ?? "")]
        }
            + (feedback.reactions ?? [:]).sorted { $0.key < $1.key }.map { outcome, reaction in
                [.init(feedback.name), .init(outcome), .init("nothing (\(reaction))"), .init("")]
            }
    }

    /// The condition of a transition, with the time for which it must hold.
    private static func condition(_ transition: Transition) -> String {
        [transition.condition, transition.hold.map { "for \($0)" }].compactMap(\.self).joined(separator: " ")
    }

    private static func pause(_ pause: Pause, _ summary: SystemSummary, _ style: TextStyle) -> String {
        style.colored("\(PauseText.text(pause, style)); \(waiting(summary))", .yellow)
    }

    /// The events that wait in a mailbox, and their data.
    private static func mailbox(_ system: SystemDescription) -> String? {
        let summary = system.summary
        let waiting = summary.waiting > 0 && summary.paused == nil ? Self.waiting(summary) : nil
        let limit = system.mailbox.map { "limit \($0.limit), \(PlainText.cleaned($0.overflow))" }
        let parts = [waiting, limit].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// The number of events that wait, and the size of the large ones.
    private static func waiting(_ summary: SystemSummary) -> String {
        let events = Count.text(summary.waiting, "event waits", "events wait")
        guard summary.waitingBytes > 0 else { return events }
        let bytes = summary.waitingBytes
        guard bytes >= 1 << 20 else { return "\(events) with \(max(1, bytes >> 10)) KiB of data" }
        let mebibytes = (Double(bytes) / 1_048_576 * 10).rounded() / 10
        return "\(events) with \(mebibytes) MiB of data"
    }

    /// The effect of a new state on a run, and of another run, if there is one.
    private static func handling(_ feedback: FeedbackSummary) -> String {
        feedback.strategy + (feedback.mode == "parallel" ? "" : ", \(feedback.mode)")
    }

    /// The options of the runs of a feedback, in a line.
    private static func options(_ feedback: FeedbackSummary) -> String {
        (feedback.options ?? [:]).sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", ")
    }

    /// The rule for faults, in a line.
    private static func supervision(_ policy: Supervision) -> String {
        switch policy.onFault {
        case "restart":
            "restart after \(policy.delay), at most \(policy.maxDelay); \(policy.limit), then \(policy.beyond)"
        case "reset": "reset; \(policy.limit), then \(policy.beyond)"
        default: policy.onFault
        }
    }

    /// The states in which it is ready, and the action if it is late, in a line.
    private static func readiness(_ readiness: Readiness) -> String {
        let limit = readiness.within.map { " within \($0), otherwise \(readiness.otherwise)" } ?? ""
        return "in \(readiness.states.joined(separator: ", "))\(limit)"
    }

    /// A group and what concerns whom in it, in a line.
    private static func group(_ group: GroupSummary) -> String {
        "\(group.name) (\(group.strategy)): \(group.systems.joined(separator: ", "))"
    }

    private static func text(_ bus: BusDescription, _ style: TextStyle) -> String {
        let summary = bus.summary
        return Sheet(style).text(
            title: "bus \(summary.name)",
            description: summary.description,
            [
                ("kind", summary.kind.rawValue),
                ("type", bus.fields.isEmpty ? PlainText.cleaned(summary.valueType) : fields(bus.fields)),
                ("value", summary.value.map(style.value)),
                ("since", summary.since.map(style.moment)),
                ("durable", bus.persistence.map { PersistenceText.text($0, style) }),
                ("published", String(summary.published)),
                ("dropped", "\(summary.dropped) (limit \(bus.limit), \(PlainText.cleaned(bus.overflow)))"),
                ("readers", String(summary.readers)),
                ("writers", String(summary.writers)),
                ("from outside", bus.fromOutside.map(Self.use)),
                ("links", bus.links.isEmpty ? nil : PlainText.cleaned(bus.links.joined(separator: ", "))),
                ("source", bus.source.map(PlainText.cleaned)),
            ]
        )
    }

    /// The use that other programs make of a bus.
    private static func use(_ use: String) -> String {
        switch use {
        case "write": "written to by other programs"
        case "read": "read by other programs"
        case "both": "written to and read by other programs"
        default: PlainText.cleaned(use)
        }
    }

    private static func text(_ link: LinkDescription, _ style: TextStyle) -> String {
        let summary = link.summary
        return Sheet(style).text(
            title: "link \(summary.name)",
            description: summary.description,
            [
                ("system", PlainText.cleaned(summary.system)),
                ("bus", summary.bus.map(PlainText.cleaned)),
                ("to system", summary.toSystem.map(PlainText.cleaned)),
                ("fires on", link.condition.map(PlainText.cleaned)),
                ("emits", PlainText.cleaned(link.emits)),
                ("fired", Count.text(summary.fired, "time", "times")),
                ("last fired", summary.lastFired.map(style.moment)),
                ("faults", Self.faults(of: link, style)),
                ("limit", Self.limit(of: link)),
                ("held back", HeldBack.text(summary, because: link.openBecause)),
                ("origin", Self.origin(summary.origin)),
                ("source", link.source.map(PlainText.cleaned)),
            ]
        )
    }

    /// The attempts to fire that were faults.
    private static func faults(of link: LinkDescription, _ style: TextStyle) -> String? {
        guard let faults = link.faults, faults > 0 else { return nil }
        let last = link.lastFault.map { ", the last \(style.moment($0))" } ?? ""
        return style.colored("\(faults)\(last); see mediatorctl show \(PlainText.cleaned(link.summary.system))", .red)
    }

    private static func limit(of link: LinkDescription) -> String? {
        link.limit.map { limit in
            PlainText.cleaned(limit)
                + (link.hops.map { " and a value may cross \(Count.text($0, "link", "links")) at most" } ?? "")
        }
    }

    private static func origin(_ origin: LinkOrigin) -> String? {
        switch origin {
        case .written: nil
        case .attached: "attached while mediatord runs, and in no file"
        case .changed: "changed while mediatord runs, which is in no file"
        }
    }

    private static func marks(_ state: String, _ system: SystemDescription) -> String {
        var marks: [String] = []
        if state == system.summary.state.name { marks.append("now") }
        if state == system.initialState { marks.append("initial") }
        if let health = system.states.first(where: { $0.name == state })?.health { marks.append(health) }
        return marks.joined(separator: ", ")
    }

    private static func fields(_ fields: [Field]) -> String {
        fields.map { field in
            let expected = field.expected.map { " (\(PlainText.cleaned($0)))" } ?? ""
            return "\(PlainText.cleaned(field.name)): \(PlainText.cleaned(field.type))\(expected)"
        }.joined(separator: ", ")
    }

    private static func section(_ title: String, _ table: Table, isEmpty: Bool, _ style: TextStyle) -> String {
        isEmpty ? "" : "\n\(title)\n" + table.text(style, indentation: 2, excess: .wrapped)
    }
}

/// Names and values below a title.
struct Sheet {
    private let style: TextStyle

    init(_ style: TextStyle) {
        self.style = style
    }

    /// The sheet; a line whose value is nil is left out. Values are clean already, as they may bear colours.
    func text(title: String, description: String?, _ lines: [(name: String, value: String?)]) -> String {
        let width = (lines.filter { $0.value != nil }.map(\.name.count).max() ?? 0) + 2
        var text = style.colored(PlainText.cleaned(title), .bold) + "\n"
        if let description { text += "  \(PlainText.cleaned(description))\n" }
        for case (let name, let value?) in lines {
            text += "  \(name)\(String(repeating: " ", count: width - name.count))\(value)\n"
        }
        return text
    }
}
