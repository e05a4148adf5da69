package import Logging
import MediatorControl
package import MediatorHost
import Synchronization
package import Systemd
package import Varlink

/// Says in the log who did what over the control socket, and who was not allowed to.
///
/// An act is one line, at any log level. It has `uid`, `user` (unless the user has no name), `pid` and `verb`, and
/// `system`, `bus` or `link` for its target. The client does not wait for the lookup of its user's name. The line does,
/// and later acts wait behind it, so the lines keep their order. Refusals get three lines a second for each user, and
/// then a line with the number of further ones.
package final class ActLog: Sendable {
    /// The limit on refusals that wait for a name. Further ones are logged with the number at once.
    private static let pendingLimit = 64
    /// The limit on acts that wait for a name. Further ones are logged with the number at once.
    private static let waitingLimit = 256
    private static let burst = 3

    /// A line of an act.
    private struct Line {
        var verb: String
        var peer: VarlinkPeer
        var level: Logger.Level
        var id: MessageID?
        var message: String
        var subject: Logger.Metadata
        /// The source in the log's metadata.
        var place: (file: String, function: String, line: UInt)
    }

    private struct State {
        /// The number of refusals that wait.
        var refusals = 0
        /// Acts that wait, oldest first.
        var waiting: [Line] = []
        /// Writes those that wait.
        var writer: Task<Void, Never>?
    }

    /// A logger for acts, which writes at any level.
    let everything: Logger
    private let logger: Logger
    private let names: AccountNames
    private let repeats: RepeatLog
    private let state = Mutex(State())

    package init(logger: Logger, names: AccountNames, time: HostTime) {
        self.logger = logger
        var everything = logger
        everything.logLevel = .trace
        self.everything = everything
        self.names = names
        repeats = RepeatLog(time: time)
    }

    /// The metadata that names a peer.
    func metadata(of peer: VarlinkPeer, _ verb: String) async -> Logger.Metadata {
        Self.metadata(of: peer, verb, name: await names.name(of: peer.userID))
    }

    /// The name of a peer's user; nil if it is not known.
    func name(of peer: VarlinkPeer) async -> String? { await names.name(of: peer.userID) }

    private static func metadata(of peer: VarlinkPeer, _ verb: String, name: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "uid": "\(peer.userID)", "pid": "\(peer.processID)", "verb": "\(verb)",
        ]
        if let name { metadata["user"] = "\(name)" }
        return metadata.inJournal([JournalDetails.cause: HostClient(peer).id])
    }

    /// Something is about to be done, which will say so in the log, too: the line of the act comes first, so the name is
    /// waited for.
    func begins(
        _ verb: String, by peer: VarlinkPeer, _ level: Logger.Level, _ id: MessageID?, _ message: String,
        _ subject: Logger.Metadata, file: String = #fileID, function: String = #function, line: UInt = #line
    ) async {
        _ = await names.name(of: peer.userID)
        done(verb, by: peer, level, id, message, subject, file: file, function: function, line: line)
    }

    /// Something was done.
    ///
    /// - Parameter id: the subject of the message; nil if nothing has changed.
    package func done(
        _ verb: String, by peer: VarlinkPeer, _ level: Logger.Level, _ id: MessageID?, _ message: String,
        _ subject: Logger.Metadata, file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        let line = Line(
            verb: verb, peer: peer, level: level, id: id, message: message, subject: subject,
            place: (file, function, line))
        let name = names.present(peer.userID)
        let isWritten = state.withLock { state in
            if state.writer == nil {
                if name != nil { return true }
                state.writer = Task { [self] in await writeWaiting() }
            } else if state.waiting.count >= Self.waitingLimit {
                return true
            }
            state.waiting.append(line)
            return false
        }
        if isWritten { write(line, name: name ?? nil) }
    }

    /// Writes the lines that wait, without the names that are not known; to be called when nothing more is done.
    package func flush() async {
        let (lines, writer) = state.withLock { state in
            defer { state.waiting = [] }
            return (state.waiting, state.writer)
        }
        for line in lines { write(line, name: names.present(line.peer.userID) ?? nil) }
        await writer?.value
    }

    private func writeWaiting() async {
        while true {
            let next = state.withLock { state -> Line? in
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.writer = nil
                return nil
            }
            guard let next else { return }
            write(next, name: await names.name(of: next.peer.userID))
        }
    }

    private func write(_ line: Line, name: String?) {
        let metadata = Self.metadata(of: line.peer, line.verb, name: name).merging(line.subject) { $1 }
        let (file, function, number) = line.place
        everything.log(
            level: line.level, "\(line.message)", metadata: metadata.inJournal([JournalDetails.id: line.id?.rawValue]),
            file: file, function: function, line: number)
    }

    /// Sets the log level, and logs the peer that did so. Returns the previous level.
    @discardableResult
    package func set(_ levels: LogLevelSwitch, to level: Logger.Level, by peer: VarlinkPeer) -> Logger.Level {
        let old = levels.set(level)
        done(
            "log-level", by: peer, .notice, .levelSet, "log level set by a client",
            ["level": "\(level.rawValue)", "before": "\(old.rawValue)"])
        return old
    }

    /// Somebody was not allowed to do something.
    func refused(_ verb: String, to peer: VarlinkPeer, missing right: Right, _ subject: Logger.Metadata = [:]) {
        let subject = subject.merging(["missing": "\(right.rawValue)"]) { $1 }
        let mayWait = state.withLock { state in
            guard state.refusals < Self.pendingLimit else { return false }
            state.refusals += 1
            return true
        }
        guard mayWait else { return logRefusal(verb, peer, nil, subject) }
        Task { [self] in
            let name = await names.name(of: peer.userID)
            state.withLock { $0.refusals -= 1 }
            logRefusal(verb, peer, name, subject)
        }
    }

    private func logRefusal(_ verb: String, _ peer: VarlinkPeer, _ name: String?, _ subject: Logger.Metadata) {
        repeats.log(
            logger, .warning, "refused to a client, who has no right to it", key: "\(peer.userID)", burst: Self.burst,
            Self.metadata(of: peer, verb, name: name).merging(subject) { $1 }.about(.actRefused))
    }
}

extension ControlInterface {
    /// The name of a method in the log: the verb of mediatorctl if it has one.
    static func verb(for method: String) -> String {
        let name = method.split(separator: ".").last.map(String.init) ?? method
        return verbs[name] ?? name
    }

    private static let verbs = [
        "Status": "status", "ListSystems": "list", "DescribeSystem": "show", "ListBuses": "list",
        "DescribeBus": "show", "ListLinks": "list", "ListWaits": "list", "DescribeLink": "show", "WatchSystem": "tap",
        "WatchBus": "tap",
        "Watch": "tap",
        "Emit": "emit", "Publish": "publish", "RestartSystem": "restart", "ResetSystem": "reset",
        "ReadMetrics": "metrics", "Plan": "plan", "Reload": "reload", "ListChanges": "list", "AttachLink": "attach",
        "Why": "why", "WhyNot": "why-not", "Trace": "trace",
        "PauseSystem": "pause", "ResumeSystem": "resume", "ReadLogLevel": "log-level", "SetLogLevel": "log-level",
        "DescribeStore": "store", "CheckStore": "store", "ExportStore": "store", "ForgetStored": "store",
        "DetachLink": "detach", "SetLink": "set", "ReadConfiguration": "cat-config",
    ]
}
