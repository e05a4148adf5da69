import MediatorControl

/// The answer of `status`.
struct StatusReport: Report {
    /// The limit on unhealthy systems that are named with their reasons.
    private static let longest = 20
    let reply: StatusReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    /// Whether anything needs attention, or the daemon is about to end. A system that somebody stopped needs none.
    var isUnhealthy: Bool {
        reply.stopping == true
            || ([reply.health] + reply.systems.map(\.health)).contains { $0 != .healthy && $0 != .stopped }
    }

    func text(_ style: TextStyle) -> String {
        var lines = ""
        let uptime = Timestamp.seconds(reply.started).map { ", up \(TextStyle.span(max(0, style.now - $0)))" } ?? ""
        lines += "mediatord \(PlainText.cleaned(reply.version)), process \(reply.pid)\(uptime)\n"
        let health = style.colored(reply.health.rawValue, TextStyle.color(reply.health))
        lines += "\(health): \(PlainText.cleaned(reply.statusText))\n"
        let counts = [
            Count.text(reply.systems.count, "system", "systems"), Count.text(reply.buses, "bus", "buses"),
            Count.text(reply.links, "link", "links"),
        ]
        let sources = reply.configuration.map(PlainText.cleaned).joined(separator: ", ")
        lines += counts.joined(separator: ", ") + (sources.isEmpty ? "" : " from \(sources)") + "\n"
        if let change = reply.underway {
            let what = change.link.map { "changing the link '\(PlainText.cleaned($0))'" } ?? "reloading"
            lines += style.colored(what, .yellow) + " since \(style.moment(change.since))"
            lines += change.waiting > 0 ? "; \(Count.text(change.waiting, "other waits", "others wait"))\n" : "\n"
        }
        let stops = reply.stops ?? []
        for wait in stops.prefix(Self.longest) { lines += style.colored(wait.ofStop(style), .yellow) + "\n" }
        if stops.count > Self.longest { lines += "and \(stops.count - Self.longest) more\n" }
        if let reload = reply.reload {
            let what = reload.link.map {
                (
                    "changed the link '\(PlainText.cleaned($0))'",
                    "change of the link '\(PlainText.cleaned($0))' rejected"
                )
            }
            let (done, rejected) = what ?? ("reloaded", "reload rejected")
            let verdict = reload.applied ? done : style.colored(rejected, .red)
            lines += "\(verdict) \(style.moment(reload.time)): \(PlainText.cleaned(reload.summary))\n"
            // One without any change counts, too.
            let applied = Count.text(reply.reloads.applied, "reload or link change", "reloads and link changes")
            lines += "since the start \(applied) applied, "
            lines += "\(reply.reloads.rejected) rejected\n"
        }
        if reply.transient > 0 {
            lines +=
                "\(Count.text(reply.transient, "link is", "links are")) changed in no file; see mediatorctl list links\n"
        }
        if reply.rights != Right.allCases {
            let words = reply.rights.map(\.rawValue).joined(separator: " and ")
            let limits = reply.injectInto.map { ", but inject only \(Self.text($0))" } ?? ""
            lines += "you may \(words.isEmpty ? "do nothing" : words)\(limits)\n"
        }
        guard !reply.systems.isEmpty else { return lines }
        lines += "\n" + SystemTable.text(reply.systems, style)
        let unwell = reply.systems.filter { $0.health != .healthy && $0.health != .stopped }
        if !unwell.isEmpty { lines += "\n" }
        for system in unwell.prefix(Self.longest) {
            lines += "\(PlainText.cleaned(system.name)): \(SystemTable.health(system, style))\n"
        }
        if unwell.count > Self.longest { lines += "and \(unwell.count - Self.longest) more\n" }
        return lines
    }

    /// The right to inject: `into door, gate-* and on the bus alarms`.
    private static func text(_ targets: InjectionTargets) -> String {
        func names(_ patterns: [String]) -> String { patterns.map(PlainText.cleaned).joined(separator: ", ") }
        let systems = targets.systems.isEmpty ? nil : "into \(names(targets.systems))"
        let word = targets.buses.count == 1 ? "bus" : "buses"
        let buses = targets.buses.isEmpty ? nil : "on the \(word) \(names(targets.buses))"
        return [systems, buses].compactMap(\.self).joined(separator: " and ")
    }
}

/// Numbers of things.
enum Count {
    static func text(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }
}

/// Systems as a table.
enum SystemTable {
    /// The health of a system, with its time and reason.
    static func health(_ system: SystemSummary, _ style: TextStyle) -> String {
        let since = system.healthSince.map { " since \(style.moment($0))" } ?? ""
        let begins = system.begins.map { ", begins \(style.coming($0))" } ?? ""
        var reason = begins + (system.healthReason.map { ": \(Moments.shortened(PlainText.cleaned($0), style))" } ?? "")
        // It may have been as unwell before, for another reason.
        if let time = system.healthReasonSince.map(style.moment), time != system.healthSince.map(style.moment) {
            reason += ", since \(time)"
        }
        return style.colored(system.health.rawValue, TextStyle.color(system.health)) + since + reason
    }

    static func text(_ systems: [SystemSummary], _ style: TextStyle) -> String {
        let columns: [Table.Column] = [
            .name("SYSTEM"), .text("HEALTH"), .value("STATE"), .time("SINCE"), .number("EVENTS"),
            .number("DROPPED"), .number("FAULTS"), .optional("DESCRIPTION"),
        ]
        let rows = systems.map { system -> [Table.Cell] in
            [
                .init(system.name),
                .init(system.health.rawValue, TextStyle.color(system.health)),
                .init(StateText.text(system.state, style)),
                .init(style.moment(system.since)),
                .init(String(system.counters.events)),
                .init(system.counters.dropped == 0 ? "" : String(system.counters.dropped), .yellow),
                .init(system.counters.faults == 0 ? "" : String(system.counters.faults), .red),
                .init(system.description ?? ""),
            ]
        }
        return Table(columns, rows: rows).text(style)
    }
}

/// A state in one line: `Full percent=97`.
enum StateText {
    /// - Parameter style: shows times as on the clock; nil: they stay as they travel.
    static func text(_ state: SystemState, _ style: TextStyle?) -> String {
        let fields = style.map { $0.fields(state.data) } ?? PlainText.fields(state.data)
        return fields.isEmpty ? PlainText.cleaned(state.name) : "\(PlainText.cleaned(state.name)) \(fields)"
    }

    /// The beginning of a state, for confirmations: `show` has all of it.
    static func brief(_ state: SystemState, _ style: TextStyle) -> String { brief(text(state, style)) }

    /// The beginning of a text, for confirmations.
    static func brief(_ text: String) -> String { TextWidth.cut(text, to: 200) }
}
