import ArgumentParser
import CommonExpression
import MediatorConfiguration
import MediatorControl
import Synchronization
import Varlink

/// `mediatorctl top`
struct TopVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the busiest systems, buses and links on the whole terminal.",
        discussion: """
            Keys: arrows choose, enter opens, 1 to 4 and tab list all, systems, buses or links, s sorts, r reverses, \
            / filters, w lists the pending waits, space holds, ? helps, q ends. When the daemon goes away top says so, and goes on with the \
            next daemon.

            Without a terminal, or with --json, it writes a table, or one object on a line, at each look.

            EXAMPLES
              mediatorctl top
              mediatorctl top --interval 5s
              mediatorctl top --json --count 1 | jq '.parts[] | select(.rate > 100)'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Option(help: ArgumentHelp("The interval between two looks (default: 1s).", valueName: "time"))
    var interval: String?

    @Option(help: ArgumentHelp("Without a terminal: end after this number of looks.", valueName: "number"))
    var count: Int?

    @OptionGroup var options: CommandOptions

    private var period: Duration {
        interval.flatMap { TimeSpan(option: $0)?.swiftDuration } ?? .seconds(1)
    }

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count wants a number above 0.") }
        if let interval {
            guard let span = TimeSpan(option: interval)?.swiftDuration, span >= .milliseconds(100),
                span <= .seconds(3600)
            else { throw ValidationError("--interval wants a time from 100ms to 1h, not '\(interval)'.") }
        }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        guard !options.json, count == nil, session.environment.isTerminal, let screen = TerminalScreen() else {
            return try await tell(in: session)
        }
        defer { screen.leave() }
        try await TopSession(screen, session, period).run()
        return .success
    }

    /// A table or an object each time, where there is no terminal to fill.
    private func tell(in session: Session) async throws -> CommandStatus {
        session.environment.endQuietlyWhenInterrupted()
        var model = TopModel()
        // For programs times stay as they travel.
        let style = options.json ? nil : TextStyle(session.environment)
        model.take(try await TopSession.sample(session.client), style)
        var rest = count ?? .max
        while rest > 0 {
            try await session.environment.clock.sleep(for: period)
            model.take(try await TopSession.sample(session.client), style)
            try session.show(TopReport(model: model))
            rest -= 1
        }
        return .success
    }
}

/// The output of `top` without a terminal.
struct TopReport: Report {
    let model: TopModel

    private enum Key: String, CodingKey {
        case health, parts
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(model.sample?.status.health, forKey: .health)
        try container.encode(model.listed, forKey: .parts)
    }

    func text(_ style: TextStyle) -> String {
        let columns: [Table.Column] = [
            .text("KIND"), .name("NAME"), .number("RATE/S"), .number("TOTAL"), .number("DROPS/S"), .number("DROPPED"),
            .number("RUNS"), .flexible("STATE"),
        ]
        let rows = model.listed.map { row -> [Table.Cell] in
            [
                .init(row.kind.rawValue), .init(row.name), .init(TopScreen.number(row.rate)), .init(String(row.total)),
                .init(row.dropRate == 0 ? "" : TopScreen.number(row.dropRate), .yellow),
                .init(row.dropped == 0 ? "" : String(row.dropped), .yellow), .init(row.running.map(String.init) ?? ""),
                .init(row.told),
            ]
        }
        return (rows.isEmpty ? "nothing runs\n" : Table(columns, rows: rows).text(style)) + "\n"
    }
}

/// A run of `top` on a terminal: what comes in changes the model, and each change is drawn.
struct TopSession: Sendable {
    private enum Input: Sendable {
        case terminal(TerminalScreen.Input)
        case sample(TopModel.Sample)
        case lost(String)
        case report(TopModel.Subject, [String])
    }

    /// The time after which it connects again to a daemon that has gone.
    private static let patience = Duration.milliseconds(500)

    private let screen: TerminalScreen
    private let session: Session
    private let period: Duration

    init(_ screen: TerminalScreen, _ session: Session, _ period: Duration) {
        self.screen = screen
        self.session = session
        self.period = period
    }

    /// Asks for everything that is shown. Counts are those of about one moment.
    static func sample(_ client: ControlClient) async throws -> TopModel.Sample {
        async let status = client.status()
        async let buses = client.listBuses()
        async let links = client.listLinks()
        return try await TopModel.Sample(time: now, status: status, buses: buses, links: links)
    }

    private static let start = ContinuousClock.now

    /// Seconds by a clock that is never set.
    private static var now: Double {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    func run() async throws {
        // Keys that nobody takes in time are lost, rather than that they fill the memory.
        let (inputs, input) = AsyncStream<Input>.makeStream(bufferingPolicy: .bufferingOldest(256))
        let (wakes, wake) = AsyncStream<Request>.makeStream(bufferingPolicy: .bufferingNewest(8))
        screen.listen { input.yield(.terminal($0)) }
        defer { screen.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await fetch(wakes, input) }
            group.addTask {
                while !Task.isCancelled {
                    wake.yield(.sample)
                    try? await session.environment.clock.sleep(for: period)
                }
            }
            defer { group.cancelAll() }
            try await turn(inputs, wake)
        }
    }

    private enum Request: Sendable {
        case sample
        case report(TopModel.Subject)
    }

    private func turn(_ inputs: AsyncStream<Input>, _ wake: AsyncStream<Request>.Continuation) async throws {
        var model = TopModel()
        try draw(model)
        for await input in inputs {
            switch input {
            case .sample(let sample):
                model.take(sample, TextStyle(session.environment))
                // An answer may have been lost with a connection, or behind samples.
                if let subject = model.awaited { wake.yield(.report(subject)) }
            case .lost(let reason): model.lose(reason)
            case .report(let subject, let lines): model.show(subject, lines)
            case .terminal(.ended): return
            case .terminal(.resized): break
            case .terminal(.keys(let keys)):
                let length = TopScreen.pageLength(rows: screen.size.rows)
                for key in keys {
                    switch model.press(key, pageLength: length) {
                    case .quit: return
                    case .open(let subject): wake.yield(.report(subject))
                    case .sample: wake.yield(.sample)
                    case nil: break
                    }
                }
            }
            try draw(model)
        }
    }

    private func draw(_ model: TopModel) throws {
        let size = screen.size
        let frame = TopScreen(
            model: model, columns: size.columns, rows: size.rows, style: TextStyle(session.environment)
        ).frame
        do {
            try session.environment.write(frame)
        } catch {
            // The terminal is gone, and nobody can read a message.
            throw OutputClosed()
        }
    }

    private func report(_ subject: TopModel.Subject, _ client: ControlClient) async throws -> any Report {
        switch subject {
        case .part(let target): try await target.find(in: client, among: Target.Kind.allCases)
        case .waits: WaitsReport(reply: try await client.listWaits())
        }
    }

    /// Fetches the requested report. If the daemon has gone, it reports that and connects again.
    private func fetch(_ requests: AsyncStream<Request>, _ input: AsyncStream<Input>.Continuation) async {
        var client: ControlClient? = session.client
        for await request in requests {
            do {
                if client == nil { client = try await session.connect() }
                guard let present = client else { continue }
                switch request {
                case .sample: input.yield(.sample(try await Self.sample(present)))
                case .report(let subject):
                    do {
                        let text = try await report(subject, present).text(TextStyle(session.environment).plain)
                        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                        input.yield(.report(subject, lines))
                    } catch let error as CommandError {
                        input.yield(.report(subject, [error.message]))
                    } catch let error as ControlError {
                        input.yield(.report(subject, [error.description]))
                    }
                }
            } catch is CancellationError {
                return
            } catch {
                await client?.close()
                client = nil
                let reason = error is MissingRight ? "the right to read is gone" : "no daemon"
                input.yield(.lost("\(reason), trying again: \(error)"))
                try? await session.environment.clock.sleep(for: Self.patience)
            }
        }
        await client?.close()
    }
}
