import Logging
import MediatorControl
import MediatorHost
import Synchronization
import Systemd
import Varlink

/// Says in the log who did what over the control socket, and who was not allowed to.
///
/// An act is one line with `uid`, `user` (unless the machine knows no name), `pid` and `verb`, and with `system`, `bus` or
/// `link` for what it was done to. Of refusals there are three lines a second for each user, and then how many more.
final class ActLog: Sendable {
    /// How many refusals may wait for the name of their user; of others the number is told.
    private static let pendingLimit = 64
    private static let burst = 3

    private let logger: Logger
    private let names: AccountNames
    private let repeats: RepeatLog
    private let pending = Mutex(0)

    init(logger: Logger, names: AccountNames, time: HostTime) {
        self.logger = logger
        self.names = names
        repeats = RepeatLog(time: time)
    }

    /// Who somebody is, in the log.
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

    /// Something was done.
    ///
    /// - Parameter id: What the message is about; nil: nothing has changed.
    func done(
        _ verb: String, by peer: VarlinkPeer, _ level: Logger.Level, _ id: MessageID?, _ message: String,
        _ subject: Logger.Metadata, file: String = #fileID, function: String = #function, line: UInt = #line
    ) async {
        guard level >= logger.logLevel else { return }
        let metadata = await metadata(of: peer, verb).merging(subject) { $1 }
        logger.log(
            level: level, "\(message)", metadata: metadata.inJournal([JournalDetails.id: id?.rawValue]), file: file,
            function: function, line: line)
    }

    /// Sets what is logged, and says who did so, whatever the levels are.
    func set(_ levels: LogLevelSwitch, to level: Logger.Level, by peer: VarlinkPeer) async {
        let old = levels.get()
        levels.set(min(old, level, .notice))
        await done(
            "log-level", by: peer, .notice, .levelSet, "log level set by a client",
            ["level": "\(level.rawValue)", "before": "\(old.rawValue)"])
        levels.set(level)
    }

    /// Somebody was not allowed to do something.
    func refused(_ verb: String, to peer: VarlinkPeer, missing right: Right, _ subject: Logger.Metadata = [:]) {
        let subject = subject.merging(["missing": "\(right.rawValue)"]) { $1 }
        let mayWait = pending.withLock { pending in
            guard pending < Self.pendingLimit else { return false }
            pending += 1
            return true
        }
        guard mayWait else { return logRefusal(verb, peer, nil, subject) }
        Task { [self] in
            let name = await names.name(of: peer.userID)
            pending.withLock { $0 -= 1 }
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
    /// What a method is called in the log, and by who types it: the verb of mediatorctl where there is one.
    static func verb(for method: String) -> String {
        let name = method.split(separator: ".").last.map(String.init) ?? method
        return verbs[name] ?? name
    }

    private static let verbs = [
        "Status": "status", "ListSystems": "list", "DescribeSystem": "show", "ListBuses": "list",
        "DescribeBus": "show", "ListLinks": "list", "DescribeLink": "show", "WatchSystem": "tap", "WatchBus": "tap",
        "Watch": "tap",
        "Emit": "emit", "Publish": "publish", "RestartSystem": "restart", "ResetSystem": "reset",
        "ReadMetrics": "metrics", "Plan": "plan", "Reload": "reload", "ListChanges": "list", "AttachLink": "attach",
        "Why": "why", "WhyNot": "why-not", "Trace": "trace",
        "PauseSystem": "pause", "ResumeSystem": "resume", "ReadLogLevel": "log-level", "SetLogLevel": "log-level",
        "DetachLink": "detach", "SetLink": "set", "ReadConfiguration": "cat-config",
    ]
}
