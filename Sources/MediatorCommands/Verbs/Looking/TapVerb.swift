import ArgumentParser
import CommonExpression
import MediatorConfiguration
import MediatorControl
import Varlink

/// `mediatorctl tap`
struct TapVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Follow the states of systems, the values of buses and the activity of links.",
        discussion: """
            Shows present states and values first, then every change, until ^C. In a name, * stands for any letters \
            and ? for one; the prefixes system:, bus: and link: choose a kind; without a name everything is \
            followed. Parts that are new after a reload, or begin again, are followed, too. An unknown name is an \
            error. If nothing fits a name with * or ?, or no system has a state that --where names, a line on \
            standard error says so, and tap waits.

            --where is an expression as in `when:` of the configuration. It can use state and stateName of a system, \
            value of a bus or link, and name and eventName of each. Parts without such a field are left out. With \
            --rate, further changes are left out, and their number is shown.

            EXAMPLES
              mediatorctl tap uplink
              mediatorctl tap 'disk*' bus:alarms
              mediatorctl tap 'system:*' --where 'stateName == "Failed"'
              mediatorctl tap disk-guard --where 'state.used > 80' --rate 5/s
              mediatorctl tap 'link:*' --for 10s
              mediatorctl tap uplink --count 1 --json | jq -r .state.name

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Systems, buses and links by their names, in which * and ? stand for others; none: everything.",
            valueName: "name"))
    var names: [String] = []

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Show only changes that fulfil this condition, such as 'state.used > 80'.", valueName: "expression"))
    var condition: String?

    @Option(help: ArgumentHelp("Limit the changes that are shown, such as 5/s or 100/1m.", valueName: "number/time"))
    var rate: String?

    @Option(help: ArgumentHelp("End after this many lines.", valueName: "number"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time, such as 10s.", valueName: "time"))
    var duration: String?

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count wants a number above 0.") }
        if let duration, Self.span(duration) == nil {
            throw ValidationError("--for wants a time such as 10s or 1h30m, not '\(duration)'.")
        }
        if let rate, Self.rate(rate) == nil {
            throw ValidationError("--rate wants a number and a time, such as 5/s or 100/1m, not '\(rate)'.")
        }
    }

    /// A time above zero.
    private static func span(_ text: String) -> Duration? {
        guard let span = TimeSpan(option: text)?.swiftDuration, span > .zero else { return nil }
        return span
    }

    /// `5/s`, `5/500ms`.
    private static func rate(_ text: String) -> (limit: Int, period: String)? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let limit = Int(parts[0]), limit > 0 else { return nil }
        guard parts.count > 1 else { return nil }
        let isUnit = parts[1].first.map { !$0.isNumber } ?? true
        let period = isUnit ? "1" + parts[1] : parts[1]
        // The daemon wants a duration.
        return span(period) == nil ? nil : (limit, TimeSpan(text: period) == nil ? period + "s" : period)
    }

    func perform(in session: Session) async throws -> CommandStatus {
        session.environment.endQuietlyWhenInterrupted()
        var patterns: [String] = []
        for name in names {
            guard !PartPattern(name).isWild else {
                patterns.append(name)
                continue
            }
            // An unknown name is reported with the nearest one.
            switch try await Target(name).find(in: session.client, among: Target.Kind.allCases) {
            case .system(let system): patterns.append("system:\(system.summary.name)")
            case .bus(let bus): patterns.append("bus:\(bus.summary.name)")
            case .link(let link): patterns.append("link:\(link.summary.name)")
            }
        }
        try await tellWhatFitsNothing(in: session)
        let rate = rate.flatMap(Self.rate)
        let replies = try await session.client.watch(
            WatchParameters(patterns: patterns, condition: condition, limit: rate?.limit, period: rate?.period))
        let isOne = names.count == 1 && !PartPattern(names[0]).isWild
        guard let duration = duration.flatMap(Self.span) else {
            try await follow(replies, isOne: isOne, session)
            return .success
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await follow(replies, isOne: isOne, session) }
            group.addTask { try await session.environment.clock.sleep(for: duration) }
            defer { group.cancelAll() }
            try await group.next()
        }
        return .success
    }

    /// Reports patterns that fit nothing, and states that no system has at present.
    private func tellWhatFitsNothing(in session: Session) async throws {
        let patterns = names.map { PartPattern($0) }
        let wild = patterns.filter(\.isWild)
        let states = condition.map(Self.states) ?? []
        guard !wild.isEmpty || !states.isEmpty else { return }
        var known: [PartKind: [String]] = [:]
        for (kind, target) in [(PartKind.system, Target.Kind.system), (.bus, .bus), (.link, .link)] {
            known[kind] = try await Target.names(of: [target], session.client)
        }
        for pattern in wild {
            let all = known.filter { pattern.kind == nil || $0.key == pattern.kind }
            guard !all.contains(where: { kind, names in names.contains { pattern.matches(kind, $0) } }) else {
                continue
            }
            let text = pattern.kind.map { "\($0.rawValue):\(pattern.name)" } ?? pattern.name
            let letters = pattern.name.filter { $0 != "*" && $0 != "?" }
            let hint = Nearest.hint(letters, among: all.values.flatMap(\.self).sorted())
            session.note("nothing is called '\(text)' now; waiting for one\(hint)")
        }
        let systems = (known[.system] ?? []).filter { name in
            patterns.isEmpty || patterns.contains { $0.matches(.system, name) }
        }
        guard !states.isEmpty, !systems.isEmpty, systems.count <= Self.mostDescribed else { return }
        var names: Set<String> = []
        for system in systems {
            names.formUnion(try await session.client.describeSystem(system).states.map(\.name))
        }
        for state in states where !names.contains(state) {
            let hint = Nearest.hint(state, among: names.sorted())
            session.note("no system that is followed has a state '\(state)' now; waiting for one\(hint)")
        }
    }

    /// Of how many systems at most it is asked which states they have.
    private static let mostDescribed = 256

    /// The states with whose names a condition compares `stateName`.
    private static func states(in condition: String) -> [String] {
        let written = condition.matches(of: /\bstateName\s*==\s*(?:"([^"\\]*)"|'([^'\\]*)')/).map { $0.1 ?? $0.2 }
        let turned = condition.matches(of: /(?:"([^"\\]*)"|'([^'\\]*)')\s*==\s*stateName\b/).map { $0.1 ?? $0.2 }
        return (written + turned).compactMap { $0.map(String.init) }
    }

    private func follow(_ replies: ControlWatch<WatchReply>, isOne: Bool, _ session: Session) async throws {
        var rest = count ?? .max
        var width = 0
        do {
            for try await reply in replies {
                if let name = reply.name, !isOne { width = max(width, min(TextWidth.columns(name), 24)) }
                try session.show(WatchReport(reply: reply, nameWidth: isOne ? nil : width))
                guard reply.topic == .state || reply.topic == .value || reply.topic == .fired else { continue }
                rest -= 1
                if rest == 0 { return }
            }
        } catch let error as VarlinkError where error.code == .connectionClosed && !Task.isCancelled {
            throw CommandError(
                .noConnection,
                "mediatord went away",
                advice: "See \(session.manager.status); when it runs again, start this tap again."
            )
        } catch  where Task.isCancelled {
            return
        }
    }
}
