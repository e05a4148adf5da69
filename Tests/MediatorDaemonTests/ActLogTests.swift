import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorDaemon
import MediatorHost
import Synchronization
import Systemd
import Testing
import TestSupport
import Varlink

/// The log of clients' acts.
@Suite struct `Acts in the log` {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    private struct Handler: LogHandler {
        var logLevel: Logger.Level = .info
        var metadata: Logger.Metadata = [:]
        let lines: Lines

        func log(event: LogEvent) {
            let user = event.metadata?["user"].map { "\($0)" } ?? "-"
            lines.add("\(event.level.rawValue) \(user): \(event.message)")
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
    }

    private let lines = Lines()

    private func acts(_ level: Logger.Level, _ names: AccountNames) -> ActLog {
        let lines = lines
        let logger = Logger(label: "test") { _ in Handler(logLevel: level, lines: lines) }
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else { preconditionFailure("there is a year 1970") }
        let time = HostTime(clock: ManualClock()) { epoch }
        return ActLog(logger: logger, names: names, time: time)
    }

    private static func peer(_ user: UInt32) -> VarlinkPeer { VarlinkPeer(processID: 1, userID: user, groupID: 1) }

    @Test func `nobody waits for a name, and acts are told in their order`() async {
        let gate = ThreadSemaphore()
        let names = AccountNames(keeps: [0], clock: ManualClock()) { user in
            guard user == 5 else { return "root" }
            gate.wait()
            return "alice"
        }
        await suspend(while: names.present(0) == nil)
        let acts = acts(.info, names)
        acts.done("emit", by: Self.peer(0), .info, nil, "first", [:])
        #expect(lines.all == ["info root: first"])
        acts.done("emit", by: Self.peer(5), .info, nil, "second", [:])
        acts.done("emit", by: Self.peer(0), .info, nil, "third", [:])
        #expect(lines.all.count == 1)
        gate.signal()
        await suspend(while: lines.all.count < 3)
        #expect(lines.all == ["info root: first", "info alice: second", "info root: third"])
    }

    @Test func `at the end what waits is told without the names`() async {
        let clock = ManualClock()
        let gate = ThreadSemaphore()
        let names = AccountNames(clock: clock) { _ in
            gate.wait()
            return "late"
        }
        let acts = acts(.info, names)
        for number in 0..<300 { acts.done("emit", by: Self.peer(5), .info, nil, "\(number)", [:]) }
        await clock.nextDeadline(in: AccountNames.patience)
        async let flushed: Void = acts.flush()
        clock.advance(by: AccountNames.patience)
        await flushed
        #expect(Set(lines.all) == Set((0..<300).map { "info -: \($0)" }) && lines.all.count == 300)
        gate.signal()
    }

    @Test func `whatever level is set, acts are told`() async {
        let names = AccountNames { _ in "root" }
        _ = await names.name(of: 0)
        let acts = acts(.critical, names)
        acts.done("emit", by: Self.peer(0), .info, nil, "event emitted", [:])
        #expect(lines.all == ["info root: event emitted"])
    }

    @Test func `of two who set the level at once, each tells the level that it found`() async {
        let names = AccountNames(keeps: [0]) { _ in "root" }
        await suspend(while: names.present(0) == nil)
        let levels = LogLevelSwitch(.info)
        let (acts, peer) = (acts(.info, names), Self.peer(0))
        for _ in 0..<200 {
            let taken = Lines()
            levels.set(.info)
            await withTaskGroup(of: Void.self) { tasks in
                for level in [Logger.Level.error, .debug] {
                    tasks.addTask {
                        taken.add(acts.set(levels, to: level, by: peer).rawValue)
                    }
                }
            }
            // One found the first level, the other the level that the first one had set.
            #expect(Set(taken.all) == ["info", levels.get() == .error ? "debug" : "error"])
        }
    }
}
