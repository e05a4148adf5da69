import FeedbackKitTesting
import Glibc
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// A host with many systems, each with a bus of its own and links to it and from it, and all in one group.
private func manySystems(_ count: Int) throws -> Host {
    var text = ""
    for number in 0..<count {
        text += """
            system: s\(number)
            states: { Low: {}, High: {} }
            events: { Up: {}, Down: {} }
            fromOutside: any
            initialState: Low
            transitions: { Low: { Up: High }, High: { Down: Low } }
            ---

            """
    }
    text += "store: { default: none }\nbuses:\n"
    for number in 0..<count { text += "  b\(number): { kind: currentValue, value: string, initial: low }\n" }
    text += "links:\n"
    for number in 0..<count {
        let next = (number + 1) % count
        text += "  tell\(number): { attach: s\(number), to: b\(number), onState: High, emitValue: high }\n"
        text += "  hear\(number): { attach: s\(next), to: b\(number), onValue: other, emitEvent: Up }\n"
    }
    text += "groups:\n  all: { strategy: one, systems: [\((0..<count).map { "s\($0)" }.joined(separator: ", "))] }\n"
    let result = ConfigurationCompiler.compile(
        files: [ConfigurationFile(path: "many.yaml", text: text)], effects: EffectCatalogue([]).schemas)
    for diagnostic in result.diagnostics where diagnostic.severity == .error {
        Issue.record("\(diagnostic.rendered())")
    }
    return try Host(
        graph: try #require(result.graph), effects: EffectCatalogue([]), time: .manual(ManualClock()),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
}

/// The least processor time that something takes of several times, in seconds. What else the machine does is not in it.
private func processorTime(_ body: () -> Void) -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    return (0..<5).map { _ in
        let begin = now()
        body()
        return now() - begin
    }.min() ?? 0
}

@Suite(.timeLimit(.minutes(20))) struct `Looking in` {
    @Test func `takes time in proportion to how many systems, buses and links there are`() throws {
        let (few, many) = (try manySystems(125), try manySystems(1_000))
        for (name, look) in [
            ("systems", { host in _ = host.systemStatuses }), ("buses", { host in _ = host.busStatuses }),
            ("links", { host in _ = host.snapshot.linkStatuses }), ("metrics", { host in _ = host.snapshot.metrics }),
        ] as [(String, (Host) -> Void)] {
            let ratio = processorTime { look(many) } / processorTime { look(few) }
            // Eight times as many; 64 would be quadratic. The larger host has less of itself in the processor's caches.
            #expect(ratio < 32, "\(name) took \(ratio) times as long")
        }
    }

    @Test func `tells of each system its links and its group, and of each bus who reads and writes it`() throws {
        let host = try manySystems(3)
        #expect(host.systemStatuses.map(\.links) == [["hear2", "tell0"], ["hear0", "tell1"], ["hear1", "tell2"]])
        #expect(host.systemStatuses.map(\.groupSystems) == Array(repeating: ["s0", "s1", "s2"], count: 3))
        #expect(try host.busStatus("b1").readers == ["hear1"] && host.busStatus("b1").writers == ["tell1"])
    }
}
