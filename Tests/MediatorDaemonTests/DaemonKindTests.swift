import CommonExpression
import FeedbackKit
import Foundation
import Logging
import MediatorConfiguration
import MediatorDaemon
import MediatorHost
import Synchronization
import Testing

private struct Idle: State, Codable {}
private struct Go: Event, Codable { let url: URL }
private struct Away: Codable { let home: URL }
private enum Shapes: Codable, CaseIterable {
    case none, pair(Int, Int), link(to: URL)
    static let allCases = [Shapes.none, .pair(1, 2), .link(to: URL(filePath: "/"))]
}
private struct Stop: Event, Codable {}
private struct Limits: Codable { var most = 3 }
private struct Count: Codable { var value: Int }
private enum Step: String, Codable, CaseIterable { case up, down }
private struct TooMany: Error, CustomStringConvertible { let description = "there cannot be more than ten" }

private func makeSystem() -> System {
    System {
        InitialState { Idle() }
        Transitions { From(Idle.self) { _ in On(Stop.self, transitionTo: Idle()) } }
    }
}

private func makeSequence(from value: Int) -> StateSequence<Count, Step> {
    system(
        initial: Count(value: value),
        reduce: { (count: inout Count, step: Step) in count.value += step == .up ? 1 : -1 }, feedbacks: [])
}

/// Every way to declare a kind.
private let kinds: [DaemonKind] = [
    .system("plain", states: [Idle.self], events: [Stop.self]) { makeSystem() },
    .system(
        "limited", description: "With a limit.", parameters: Limits.self, defaults: Limits(), states: [Idle.self],
        events: [Stop.self]
    ) { limits in
        guard limits.most <= 10 else { throw TooMany() }
        return makeSystem()
    },
    .loop("count", state: Count.self, event: Step.self) { makeSequence(from: 0) },
    .loop("count-from", parameters: Limits.self, state: Count.self, event: Step.self) { makeSequence(from: $0.most) },
    .loop("loop", state: Count.self, event: Step.self) { makeSequence(from: 0).makeLoop() },
    .loop("loop-from", parameters: Limits.self, state: Count.self, event: Step.self) {
        makeSequence(from: $0.most).makeLoop()
    },
]

@Suite struct `Kinds of a daemon` {
    @Test func `are declared with their types`() throws {
        let found = try SystemCatalogue.of(kinds).kinds
        #expect(found.map(\.name) == ["count", "count-from", "limited", "loop", "loop-from", "plain"])
        for kind in found where kind.name.contains("o") {
            #expect(kind.states.map(\.name) == ["Count"])
            #expect(kind.states[0].fields.map(\.name) == ["value"])
            #expect(kind.events.map(\.name) == ["up", "down"])
        }
        #expect(found[2].description == "With a limit.")
        #expect(found[2].parameters.map(\.default) == [.int(3)])
        #expect(found[1].parameters.map(\.default) == [nil])
        #expect(found[5].parameters.isEmpty)
        #expect(found[5].states.map(\.name) == ["Idle"])
    }

    @Test func `are told everything that is wrong with them at once`() {
        let error = #expect(throws: KindError.self) {
            try SystemCatalogue.of([
                .system("twice", states: [Idle.self], events: []) { makeSystem() },
                .system("twice", states: [Idle.self, Idle.self], events: []) { makeSystem() },
                .system("a b", states: [Idle.self], events: []) { makeSystem() },
                .system("none", states: [], events: []) { makeSystem() },
                .system("url", states: [Idle.self], events: [Go.self]) { makeSystem() },
                .system("many", parameters: Away.self, states: [Idle.self, Idle.self], events: [Go.self]) { _ in
                    makeSystem()
                },
                .system("same", states: [Idle.self, Idle.self], events: [Stop.self, Stop.self]) { makeSystem() },
                .loop("cases", state: Shapes.self, event: Step.self) { () throws -> Loop<Shapes, Step> in
                    throw TooMany()
                },
            ])
        }
        #expect(
            error?.description == """
                two kinds have the name 'twice'
                the kind 'twice': two states have the name 'Idle'
                the kind 'a b': 'a b' cannot name a kind of systems
                the kind 'none': it has no state
                the kind 'url': the event Go: the field 'url': there is no type for URL in configurations
                the kind 'many': the event Go: the field 'url': there is no type for URL in configurations
                the kind 'many': the parameters Away: the field 'home': there is no type for URL in configurations
                the kind 'same': two states have the name 'Idle'
                the kind 'same': two events have the name 'Stop'
                the kind 'cases': the state Shapes: the case 'pair': give each of its values a label
                the kind 'cases': the state Shapes: the case 'link': the field 'to': there is no type for URL in configurations
                """)
    }

    @Test func `are checked with the configuration as a start would, and nothing is started`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "own-daemon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func check(_ text: String) throws -> (diagnostics: [String], summary: String, isValid: Bool) {
            try text.write(to: folder.appending(path: "a.yaml"), atomically: true, encoding: .utf8)
            let diagnostics = Mutex<[String]>([])
            var daemon = Daemon(
                configuration: ConfigurationLayers([folder.path]), socket: "/nowhere",
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) { diagnostic in diagnostics.withLock { $0.append("\(diagnostic.code): \(diagnostic.message)") } }
            daemon.kinds = try SystemCatalogue.of(kinds)
            let (summary, isValid) = daemon.check()
            return (diagnostics.withLock { $0 }, summary.replacing(folder.path, with: "Config"), isValid)
        }
        let right = try check("system: a\nkind: limited\n")
        #expect(right == ([], "Config is valid: 1 system, 0 buses and 0 links in 1 file", true))
        let wrong = try check("system: a\nkind: limitd\n")
        #expect(wrong.diagnostics == ["unknown-kind: there is no kind of systems 'limitd'"])
        #expect(!wrong.isValid)
        let refused = try check("system: a\nkind: limited\nwith: { most: 11 }\n")
        #expect(
            refused.diagnostics
                == ["initial-state: the kind 'limited' cannot make the system 'a': there cannot be more than ten"])
        let both = try check(
            "system: a\nkind: limited\nwith: { most: 11 }\n---\nsystem: b\nkind: limited\nwith: { most: 12 }\n")
        #expect(both.diagnostics.count == 2)
        #expect(refused.summary == "Config is not valid: a kind of systems rejects its parameters")
        #expect(!refused.isValid)
    }
}

private func == (
    left: (diagnostics: [String], summary: String, isValid: Bool), right: ([String], String, Bool)
) -> Bool {
    left.diagnostics == right.0 && left.summary == right.1 && left.isValid == right.2
}
