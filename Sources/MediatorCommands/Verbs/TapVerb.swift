import ArgumentParser
import CommonExpression
import MediatorControl
import Varlink

/// `mediatorctl tap`
struct TapVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Follow the states of systems, the values of buses and what links send.",
        discussion: """
            Shows present states and values first, then every change, until ^C. In a name, * stands for any letters and \
            ? for one; system:, bus: or link: in front says what is meant; without a name everything is followed. What is \
            new after a reload, or begins anew, is followed as well.

            --where is an expression as in `when:` of the configuration. It sees state and stateName of a system, value \
            of a bus or link, and of each name and eventName. What has no such field is left out. With --rate, no more \
            changes than that are shown, and how many were not is told.

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
        help: ArgumentHelp("Show only what this holds of, such as 'state.used > 80'.", valueName: "expression"))
    var condition: String?

    @Option(help: ArgumentHelp("Show at most so many changes in a time: 5/s, 100/1m.", valueName: "number/time"))
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
        guard let span = TimeSpan(text: text)?.swiftDuration, span > .zero else { return nil }
        return span
    }

    /// `5/s`, `5/500ms`, `5`.
    private static func rate(_ text: String) -> (limit: Int, period: String)? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let limit = Int(parts[0]), limit > 0 else { return nil }
        guard parts.count > 1 else { return (limit, "1s") }
        let isUnit = parts[1].first.map { !$0.isNumber } ?? true
        let period = isUnit ? "1" + parts[1] : parts[1]
        return span(period) == nil ? nil : (limit, period)
    }

    func perform(in session: Session) async throws -> CommandStatus {
        session.environment.endQuietlyWhenInterrupted()
        var patterns: [String] = []
        for name in names {
            guard !PartPattern(name).isWild else {
                patterns.append(name)
                continue
            }
            // A name that is none is told with what may have been meant.
            switch try await Target(name).find(in: session.client, among: Target.Kind.allCases) {
            case .system(let system): patterns.append("system:\(system.summary.name)")
            case .bus(let bus): patterns.append("bus:\(bus.summary.name)")
            case .link(let link): patterns.append("link:\(link.summary.name)")
            }
        }
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

    private func follow(_ replies: ControlWatch<WatchReply>, isOne: Bool, _ session: Session) async throws {
        var rest = count ?? .max
        var width = 0
        do {
            for try await reply in replies {
                if let name = reply.name, !isOne { width = max(width, min(TextWidth.columns(name), 24)) }
                try session.showNow(WatchReport(reply: reply, nameWidth: isOne ? nil : width))
                guard reply.topic == .state || reply.topic == .value || reply.topic == .fired else { continue }
                rest -= 1
                if rest == 0 { return }
            }
        } catch let error as VarlinkError where error.code == .connectionClosed && !Task.isCancelled {
            throw CommandError(
                .noConnection,
                "mediatord went away",
                advice: "See `systemctl status mediatord`; when it runs again, start this tap again."
            )
        } catch  where Task.isCancelled {
            return
        }
    }
}
