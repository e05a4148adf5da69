import CommonExpression
import FeedbackKitTesting
import Foundation
import Logging
import MediatorConfiguration
import Synchronization
import TestSupport
import Testing

@testable import MediatorHost

/// The log lines.
final class Lines: Sendable {
    struct Line: Sendable {
        var message: String
        var level: Logger.Level
        var file: String
        /// The metadata as text, without the fields for the journal alone.
        var metadata: [String: String]
        /// The fields for the journal alone.
        var details: [String: String]

        var id: MessageID? { details["message-id"].flatMap(MessageID.init) }
    }

    private let lines = Mutex<[Line]>([])

    var all: [Line] { lines.withLock { $0 } }

    /// The lines of a system which are about something.
    func about(_ id: MessageID, of system: String) -> [Line] {
        all.filter { $0.id == id && $0.metadata["system"] == system }
    }

    func note(_ line: Line) { lines.withLock { $0.append(line) } }

    var logger: Logger { logger(.debug) }

    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in Handler(lines: self, logLevel: level) }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let merged = metadata.merging(event.metadata ?? [:]) { $1 }
            var line = Line(
                message: event.message.description, level: event.level, file: event.file,
                metadata: merged.mapValues { "\($0)" }, details: [:])
            line.metadata["journal"] = nil
            if case .dictionary(let details)? = merged["journal"] {
                line.details = details.mapValues { "\($0)" }
            }
            lines.note(line)
        }
    }
}

private let wiring = """
    system: backup
    states: { Waiting: {}, Paused: { reason: string } }
    events: { Pause: { reason: string }, Start: {}, Odd: {} }
    fromOutside: any
    initialState: Waiting
    unhandled: warn
    transitions: { any: { Pause: { to: Paused, set: { reason: "${event.reason}" } }, Start: Waiting } }
    ---
    system: uplink
    states: { Up: {}, Down: { why: string } }
    events: { Lost: { why: string }, Back: {} }
    fromOutside: any
    initialState: Up
    feedbacks:
      probe: { onState: Up, look: 3s, onLost: { Lost: { why: "${result.why}" } } }
    transitions:
      Up: { Lost: { to: Down, set: { why: "${event.why}" } } }
      Down: { Back: Up }
    ---
    buses:
      uplink.status: { kind: currentValue, value: string, initial: up, fromOutside: write }
    links:
      tell: { attach: uplink, to: uplink.status, onState: Down, emitValue: "${'down: ' + state.why}" }
      pause: { attach: backup, to: uplink.status, when: value != "up", emitEvent: { Pause: { reason: "${value}" } } }
    """

@Suite(.timeLimit(.minutes(20))) struct `What the journal is told` {
    @Test func `a state in which the system is worse is told as gravely`() async throws {
        let lines = Lines()
        let fixture = try CauseFixture(
            """
            system: disk
            states: { Good: {}, Low: {}, Gone: {}, Lost: {} }
            events: { Go: { to: int } }
            fromOutside: any
            initialState: Good
            health: { Low: degraded, Gone: failed, Lost: failed }
            transitions:
              any:
                Go:
                  - { when: event.to == 0, to: Good }
                  - { when: event.to == 1, to: Low }
                  - { when: event.to == 2, to: Gone }
                  - { to: Lost }

            """, logger: lines.logger)
        fixture.host.start()
        for to in [1, 2, 3, 3, 1, 0, 2, 0] as [Int64] {
            try fixture.host.emit("Go", to: "disk", fields: [.int(to)])
            await fixture.settle()
        }
        let told = lines.about(.stateEntered, of: "disk")
        #expect(
            told.map(\.level) == [.notice, .warning, .info, .debug, .info, .info, .warning, .info],
            "\(told.map(\.message))")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `a transition that comes again and again is told ten times, and then once a minute, the last of them`()
        async throws
    {
        let lines = Lines()
        let fixture = try CauseFixture(
            """
            system: clock
            states: { At: { second: int }, Ahead: {} }
            events: { Tick: {}, Set: {} }
            fromOutside: any
            initialState: { At: { second: 0 } }
            transitions: { At: { Tick: { to: At, set: { second: "${state.second + 1}" } }, Set: Ahead } }

            """, logger: lines.logger(.info))
        func told() -> [String] {
            lines.about(.stateEntered, of: "clock").map { line in
                line.message + (line.metadata["repeated"].map { "  \($0)" } ?? "")
            }
        }
        fixture.host.start()
        for _ in 1...150 {
            fixture.clock.advance(by: .seconds(1))
            try fixture.host.emit("Tick", to: "clock", fields: [])
            await fixture.settle()
        }
        try fixture.host.emit("Set", to: "clock", fields: [])
        await fixture.settle()
        await fixture.host.stop(within: .seconds(1))
        // Either the clock or the next transition ends an interval, and no more lines are written than that.
        let all = told()
        #expect(all.prefix(10) == (1...10).map { "At → At { second: \($0) }" }[...])
        #expect((13...15).contains(all.count), "\(all)")
        #expect(all.contains("At → Ahead"))
        // Each of 150 is logged or counted.
        let counted = lines.about(.stateEntered, of: "clock").compactMap { $0.metadata["repeated"] }
            .compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +)
        #expect(all.count - 1 + counted == 150, "\(all)")
    }

    @Test func `with the level debug every transition is told`() async throws {
        let lines = Lines()
        let fixture = try CauseFixture(
            """
            system: clock
            states: { At: { second: int } }
            events: { Tick: {} }
            fromOutside: any
            initialState: { At: { second: 0 } }
            transitions: { At: { Tick: { to: At, set: { second: "${state.second + 1}" } } } }

            """, logger: lines.logger(.debug))
        fixture.host.start()
        for _ in 1...30 {
            fixture.clock.advance(by: .seconds(1))
            try fixture.host.emit("Tick", to: "clock", fields: [])
            await fixture.settle()
        }
        #expect(lines.about(.stateEntered, of: "clock").count == 30)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `A state has a name, which is the cause of what it brings about`() async throws {
        let lines = Lines()
        let fixture = try CauseFixture(wiring, logger: lines.logger)
        let begin = fixture.host.time.now()
        fixture.host.start()
        await fixture.pass(.seconds(3))
        try await fixture.reach("Paused", in: "backup")
        await fixture.settle()
        let now = fixture.host.time.now()

        let started = try #require(lines.about(.systemStarted, of: "uplink").first)
        #expect(started.details["state-id"] == "uplink/\(begin)" && started.details["cause"] == "start")

        let lost = try #require(lines.about(.stateEntered, of: "uplink").first)
        #expect(
            lost.details["cause"] == "uplink/\(begin)" && lost.details["state-id"] == "uplink/\(now)")
        #expect(lost.details["previous"] == "Up" && lost.details["state"] == "Down")
        #expect(lost.details["feedback"] == "probe" && lost.metadata["event"] == "Lost")

        let paused = try #require(lines.about(.stateEntered, of: "backup").first)
        #expect(paused.details["cause"] == lost.details["state-id"])
        #expect(paused.details["link"] == "pause" && paused.details["bus"] == "uplink.status")
        // The names are those of the story.
        let story = try fixture.host.why("backup").hops.filter { $0.kind == .state }.map {
            "\($0.system ?? "")/\($0.time.map { "\($0)" } ?? "")"
        }
        #expect(story == [paused, lost, started].compactMap { $0.details["state-id"] })

        // A system on the way is named, too.
        let value = try #require(lines.all.last { $0.metadata["bus"] == "uplink.status" })
        #expect(value.message == "value" && value.details["cause"] == lost.details["state-id"])
        for link in ["tell", "pause"] {
            let fired = try #require(lines.all.last { $0.metadata["link"] == link })
            #expect(fired.message == "fired" && fired.details["cause"] == lost.details["state-id"])
        }
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `What comes from outside is named by who asked`() async throws {
        let lines = Lines()
        let fixture = try CauseFixture(wiring, logger: lines.logger)
        fixture.host.start()
        let client = HostClient(userID: 1000, processID: 4711)
        try fixture.host.emit("Pause", to: "backup", fields: [.string("by hand")], by: client)
        try fixture.host.emit("Start", to: "backup", fields: [])
        try fixture.host.publish(.string("odd"), on: "uplink.status", by: client)
        await fixture.settle()
        try fixture.host.reset("backup", by: client)
        try fixture.host.emit("Odd", to: "backup", fields: [], by: client)
        await fixture.settle()
        let entered = lines.about(.stateEntered, of: "backup")
        #expect(
            entered.map { $0.details["cause"] } == [client.id, "program", client.id, client.id]
                && client.id == "client:1000:4711")
        #expect(entered.map { $0.metadata["event"] } == ["Pause", "Start", "Pause", "(reset)"])
        #expect(entered.map { $0.details["link"] } == [nil, nil, "pause", nil])
        let odd = try #require(lines.about(.eventNotHandled, of: "backup").first)
        #expect(odd.metadata["event"] == "Odd" && odd.metadata["state"] == "Waiting")
        #expect(odd.level == .warning && odd.details["cause"] == client.id)
    }

    @Test func `A fault is that of a state, and the cause of what is done about it`() async throws {
        let lines = Lines()
        let fixture = try CauseFixture(
            """
            system: divider
            states: { Ready: { n: int } }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: { Ready: { n: 1 } }
            supervision: { onFault: restart, delay: 1s, limit: 1 per 1h }
            transitions: { Ready: { Divide: { to: Ready, set: { n: "${state.n / event.by}" } } } }
            """, logger: lines.logger)
        let begin = fixture.host.time.now()
        fixture.host.start()
        try fixture.host.emit("Divide", to: "divider", fields: [.int(0)])
        await suspend(while: lines.about(.systemRestarting, of: "divider").isEmpty)
        let fault = try #require(lines.about(.systemFault, of: "divider").first)
        #expect(fault.details["cause"] == "divider/\(begin)" && fault.details["state"] == "Ready")
        #expect(fault.level == .error)
        let restarting = try #require(lines.about(.systemRestarting, of: "divider").first)
        #expect(restarting.details["cause"] == "fault:divider")
        await fixture.pass(.seconds(1))
        await suspend(while: lines.about(.systemStarted, of: "divider").count < 2)
        await fixture.settle()
        #expect(
            lines.about(.systemStarted, of: "divider").map { $0.details["cause"] } == [
                "start", "fault:divider",
            ])
        try fixture.host.emit("Divide", to: "divider", fields: [.int(0)])
        await suspend(while: lines.about(.systemEnded, of: "divider").isEmpty)
        #expect(
            lines.about(.systemEnded, of: "divider").map { $0.details["cause"] } == ["fault:divider"])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `A line names the place that has something to say, also where it is counted first`()
        async throws
    {
        let lines = Lines()
        let fixture = try CauseFixture(
            """
            system: backup
            states: { Waiting: {} }
            events: { Odd: {} }
            fromOutside: any
            initialState: Waiting
            unhandled: warn
            """, logger: lines.logger)
        fixture.host.start()
        for _ in 0..<3 { try fixture.host.emit("Odd", to: "backup", fields: []) }
        await fixture.settle()
        await fixture.host.stop(within: .seconds(1))
        let odd = lines.about(.eventNotHandled, of: "backup")
        // The second one is logged when the system ends, with the number of further ones.
        #expect(odd.map { $0.metadata["repeated"] } == [nil, "1 more after this one"])
        #expect(Set(odd.map(\.file)) == ["MediatorHost/SystemObserver.swift"])
    }
}

/// The list of messages, against the list in the catalogue.
@Suite struct `The messages` {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
    }

    /// An entry of a catalogue (systemd.io/CATALOG).
    private struct Entry {
        var id = ""
        var headers: [String: String] = [:]
        var body: [String] = []
    }

    /// Reads it by the rules: `-- ID`, headers, an empty line, text until the next.
    private func catalogue() throws -> [Entry] {
        var entries: [Entry] = []
        var isBody = false
        for line in try text("systemd/mediatord.catalog").split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("-- ") {
                entries.append(Entry(id: String(line.dropFirst(3))))
                isBody = false
            } else if line.hasPrefix("#") || entries.isEmpty {
                continue
            } else if !isBody, line.isEmpty {
                isBody = true
            } else if isBody {
                entries[entries.count - 1].body.append(String(line))
            } else {
                let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
                entries[entries.count - 1].headers[parts[0]] = parts.count == 2 ? parts[1] : ""
            }
        }
        return entries
    }

    @Test func `Each has one entry of the catalogue, with a subject and a text`() throws {
        let entries = try catalogue()
        #expect(entries.map(\.id) == MessageID.allCases.map(\.rawValue))
        for entry in entries {
            #expect(
                entry.headers.keys.sorted() == ["Defined-By", "Documentation", "Subject"], "\(entry.id)")
            #expect(entry.headers["Defined-By"] == "mediatord")
            #expect(entry.headers.values.allSatisfy { !$0.isEmpty }, "\(entry.id)")
            #expect(entry.body.joined().count > 40, "\(entry.id)")
            #expect(entry.body.allSatisfy { $0.count <= 80 }, "\(entry.id)")
        }
    }

    @Test func `Each has an id of its own, made by the rules for such`() {
        #expect(Set(MessageID.allCases.map(\.rawValue)).count == MessageID.allCases.count)
        // 128 bits, random but for the version (4) and the variant, as `systemd-id128 new` makes them.
        for id in MessageID.allCases {
            #expect(id.rawValue.wholeMatch(of: /[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}/) != nil)
        }
    }

    @Test func `Each is said somewhere`() throws {
        var sources = ""
        for module in ["MediatorHost", "MediatorDaemon", "SideEffects"] {
            let folder = Self.repository.appending(path: "Sources/\(module)")
            let files = try #require(
                FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files
            where file.pathExtension == "swift" && file.lastPathComponent != "MessageID.swift" {
                sources += try String(contentsOf: file, encoding: .utf8)
            }
        }
        for id in MessageID.allCases {
            #expect(sources.range(of: #"\.\#(id)\b"#, options: .regularExpression) != nil, "\(id)")
        }
    }

    @Test func `The guide shows ids that there are`() throws {
        let page = try text("Documentation/Reference/Log.md")
        let shown = page.matches(of: /\b[0-9a-f]{32}\b/).map { String($0.output) }
        #expect(Set(shown).isSubset(of: MessageID.allCases.map(\.rawValue)) && Set(shown).count >= 10)
    }
}
