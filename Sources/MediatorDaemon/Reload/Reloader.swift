import CLinux
import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Synchronization
import Systemd

/// Applies the configuration on disk, changes single links, and reports the result to the caller, the log and the
/// service manager.
final class Reloader: Sendable {
    /// The limit on reloads and changes that wait for their turn.
    static let waitingLimit = 1_000

    private struct State {
        var isReady = false
        /// Whether a reload that nobody waits for has been asked for and not begun.
        var isDue = false
        /// Whether something is being done now.
        var isBusy = false
        /// The work in progress that others may want to know about.
        var underway: (since: Timestamp, link: String?)?
        /// The number of callers that have gone while they waited, since the last log line about them.
        var gone = 0
        var verdict: ReloadVerdict?
        /// The status text for the service manager.
        var remark = Remark()
        var counters = ReloadCounters()
        /// The sources of the configurations, by generation.
        var sources: Generations<ConfigurationSources>
    }

    let daemon: Daemon
    let host: Host
    /// The store of what persists, if the daemon has one.
    let store: StoreKeeper?
    /// One reload or change runs at a time, and reads the files when its turn comes.
    private let turns = AsyncMutex(limit: waitingLimit)
    /// The turns of those that send the status text: the watch of healths, and reloads.
    private let statusTurns = AsyncMutex()
    private let state: Mutex<State>
    /// The names of users, as looked up since the last reload.
    let names: AccountNames
    /// Says who did what.
    let acts: ActLog
    /// The permissions of the control socket's file.
    let audience: SocketAudience

    /// - Parameters:
    ///   - sources: what the host's configuration was made of.
    ///   - store: The journal of the host.
    init(_ daemon: Daemon, _ host: Host, _ sources: ConfigurationSources, _ store: StoreKeeper? = nil) {
        self.daemon = daemon
        self.host = host
        self.store = store
        names = AccountNames(keeps: [0, geteuid()], look: daemon.accounts.userName)
        acts = ActLog(logger: daemon.logger, names: names, time: host.time)
        audience = SocketAudience(logger: daemon.logger)
        state = Mutex(State(sources: Generations(sources, of: host.generation)))
    }

    /// The work in progress, the result of the last reload or change, and their number, from one look.
    var news: (underway: ChangeUnderway?, verdict: ReloadVerdict?, counters: ReloadCounters) {
        let waiting = turns.waiting
        return state.withLock { state in
            let underway = state.underway.map {
                ChangeUnderway(since: "\($0.since)", link: $0.link, waiting: waiting)
            }
            return (underway, state.verdict, state.counters)
        }
    }

    /// The lasting part of the last result.
    private struct Remark: Sendable {
        var rejection = ""
        var name = ""
        /// New systems that were not healthy in time.
        var late: [String] = []
    }

    /// Calls a function that sends the status text to the service manager. One call runs at a time, so the manager never
    /// keeps a text that is older than one it had before. A task that is cancelled sends nothing.
    func withStatus(_ send: (String) -> Void) async {
        guard await statusTurns.enter() == .entered else { return }
        send(statusText)
        statusTurns.leave()
    }

    /// One line for the service manager: the health of the systems, after the problem of the last reload or change.
    private var statusText: String {
        let remark = state.withLock { $0.remark }
        let late = remark.late.filter { (try? host.systemStatus($0).health) != .healthy }
        let text =
            late.isEmpty
            ? remark.rejection : "\(remark.name) applied, but not healthy in time: \(late.joined(separator: ", ")); "
        return text + host.statusText
    }

    /// Whether the service manager knows that the daemon is ready.
    var isReady: Bool { state.withLock { $0.isReady } }

    /// The number of reloads and changes.
    var counters: ReloadCounters { state.withLock { $0.counters } }

    /// The sources of the active configuration.
    var sources: ConfigurationSources { running.sources }

    /// The active configuration and its sources.
    var running: (snapshot: HostSnapshot, sources: ConfigurationSources) {
        while true {
            let snapshot = host.snapshot
            // It is gone only where another has taken its place since.
            if let sources = state.withLock({ $0.sources[snapshot.generation] }) { return (snapshot, sources) }
        }
    }

    /// The daemon is about to report that it is ready. Before that, it does not report reloads.
    func becomeReady() {
        state.withLock { $0.isReady = true }
    }

    /// Reads the daemon's directories and applies their configuration, or changes nothing.
    ///
    /// - Parameters:
    ///   - dropsTransient: whether changes of links that are in no file are forgotten.
    ///   - tellsKept: whether to include parts that do not change, which are most.
    ///   - cause: who asked for it, for the log.
    /// - Throws: if the daemon stops before it is done.
    func reload(
        dropsTransient: Bool, tellsKept: Bool = false, _ cause: Logger.Metadata
    ) async throws(ControlError) -> ReloadReply {
        switch await inTurn({ [self] in
            await perform(dropsTransient: dropsTransient, tellsKept: tellsKept, cause)
        }) {
        case .success(let reply): return try reply.get()
        case .failure(let reason):
            return ReloadReply(
                applied: false, generation: host.generation, summary: reason.description, transient: sources.layer.links
            )
        }
    }

    /// The reason why the work was not done.
    enum NoTurn: Error, CustomStringConvertible {
        /// The caller has gone before its turn.
        case gone
        /// Too many wait.
        case full

        var description: String {
            switch self {
            case .gone: "\(ApplyError.cancelled)"
            case .full: "\(waitingLimit) reloads and changes of links wait for their turn already; try again later"
            }
        }
    }

    /// Does something when everything that was asked for before is done, unless who asks for it has gone by then: they
    /// believe that nothing was done. They go at once, and do not wait for their turn.
    func inTurn<Reply: Sendable>(_ job: @escaping @Sendable () async -> Reply) async -> Result<Reply, NoTurn> {
        switch await turns.enter() {
        case .entered: break
        case .full: return .failure(.full)
        case .cancelled:
            noteGone()
            return .failure(.gone)
        }
        // In a task of its own, which the caller's cancellation does not reach.
        return .success(await Task.detached(priority: .management) { [self] in await occupy(job) }.value)
    }

    /// Does something that has its turn, and ends the turn.
    private func occupy<Reply: Sendable>(_ job: @Sendable () async -> Reply) async -> Reply {
        state.withLock { $0.isBusy = true }
        defer { turns.leave() }
        let reply = await job()
        logGone(
            state.withLock { state in
                state.isBusy = false
                defer { state.gone = 0 }
                return state.gone
            })
        return reply
    }

    /// Counts one who has gone. While something is being done that is not logged, so that there is one line for all.
    private func noteGone() {
        logGone(
            state.withLock { state in
                state.gone += 1
                guard !state.isBusy else { return 0 }
                defer { state.gone = 0 }
                return state.gone
            })
    }

    private func logGone(_ count: Int) {
        guard count > 0 else { return }
        daemon.logger.notice(
            "reloads or changes of links were not done: their callers have gone",
            metadata: ["count": "\(count)"])
    }

    /// Reloads soon, and returns at once. Several that are asked for before the first begins are one.
    func reloadSoon(_ cause: Logger.Metadata) {
        let isDue = state.withLock { state in
            defer { state.isDue = true }
            return state.isDue
        }
        guard !isDue else { return }
        Task.detached(priority: .management) { [self] in
            // There is one at most that waits in this way, and it is never cancelled.
            guard await turns.enter(isLimited: false) == .entered else { return }
            await occupy { [self] in
                state.withLock { $0.isDue = false }
                _ = await perform(dropsTransient: false, tellsKept: false, cause)
            }
        }
    }

    private func perform(
        dropsTransient: Bool, tellsKept: Bool, _ cause: Logger.Metadata
    ) async -> Result<ReloadReply, ControlError> {
        await telling("reloading the configuration", of: nil) {
            do throws(ControlError) {
                let reply = try await apply(dropsTransient: dropsTransient, tellsKept: tellsKept, cause)
                return (.success(reply), Verdict(isApplied: reply.applied, summary: reply.summary, late: reply.late))
            } catch {
                acts.everything.warning("reload \(error)", metadata: cause.about(.changeInterrupted))
                return (.failure(error), Verdict(isApplied: false, summary: "\(error)"))
            }
        }
    }

    /// The result of the work.
    struct Verdict: Sendable {
        var isApplied: Bool
        var summary: String
        /// The new systems that are not healthy, though there was time for it.
        var late: [String] = []
    }

    /// Does the work, and reports its status to the service manager and on request.
    ///
    /// - Parameters:
    ///   - activity: a description of the work.
    ///   - link: the link that is changed; nil: it is a reload.
    func telling<Reply>(
        _ activity: String, of link: String?, _ body: () async -> (reply: Reply, verdict: Verdict)
    ) async -> Reply {
        let began = host.time.now()
        let tellsManager = state.withLock { state in
            state.underway = (began, link)
            return state.isReady
        }
        if tellsManager { daemon.notifier.notify(.reloading(), .status(activity)) }
        // This is sent even if the reload is not reported: a command of the unit (`ExecReload=`) may wait for it, and
        // has a time limit.
        let (reply, verdict) = await daemon.notifier.askingForTime(host.time, body)
        // A rejected configuration may have been large, and malloc would keep the memory for a next one.
        if !verdict.isApplied { linux_trim() }
        let time = "\(host.time.now())"
        let name = link == nil ? "reload" : "change of a link"
        state.withLock {
            $0.underway = nil
            $0.remark = Remark(
                rejection: verdict.isApplied ? "" : "\(name) rejected: \(verdict.summary); ", name: name,
                late: verdict.late)
            $0.verdict = ReloadVerdict(
                time: time, applied: verdict.isApplied, summary: verdict.summary, link: link)
            if verdict.isApplied { $0.counters.applied += 1 } else { $0.counters.rejected += 1 }
        }
        // A daemon that is being stopped does not become ready again.
        if tellsManager, !host.isStopped {
            await withStatus { daemon.notifier.tellReady($0, "the reload is over", daemon.logger) }
        }
        return reply
    }

    private func apply(
        dropsTransient: Bool, tellsKept: Bool, _ cause: Logger.Metadata
    ) async throws(ControlError) -> ReloadReply {
        let logger = acts.everything
        let present = sources
        let layer = present.layer
        let candidate = await CompileThread.run { [daemon] in
            daemon.candidate(daemon.configuration, dropsTransient ? TransientLayer() : layer, after: present)
        }
        let result = candidate.result
        for diagnostic in result.diagnostics { daemon.report(diagnostic) }
        func rejected(_ summary: String, _ more: [Diagnostic] = []) -> ReloadReply {
            for diagnostic in more { daemon.report(diagnostic) }
            // Diagnostics that were reported in full are not repeated.
            let told = more.isEmpty ? summary : "\(Self.count(more.count, "system")) cannot be made"
            logger.error("reload rejected: \(told); nothing was changed", metadata: cause.about(.reloadRejected))
            return ReloadReply(
                applied: false, generation: host.generation, summary: summary, errors: result.errors + more.count,
                warnings: result.warnings, diagnostics: Self.diagnostics(result.diagnostics + more),
                transient: layer.links)
        }
        if let refusal = refusal(of: candidate, insteadOf: present) { return rejected(refusal) }
        guard let graph = candidate.graph else { return rejected(Self.rejection(result.diagnostics)) }
        if let refusal = await store?.openLate(for: graph, isReady: isReady) { return rejected(refusal) }
        do throws(ApplyError) {
            let applied = try await apply(graph, madeOf: candidate.sources) { plan in
                let links = candidate.sources.layer.links
                let note = links.isEmpty ? "" : "; \(Self.count(links.count, "transient change")) in force"
                let summary = plan.summary + note
                logger.notice("reloaded: \(summary)", metadata: cause.about(.reloaded))
                return summary
            }
            FixedPrograms(of: graph).log(to: logger)
            for link in dropsTransient ? layer.links : candidate.moot {
                logger.notice(
                    "forgot the changes of a link",
                    metadata: cause.merging(["link": "\(link)"]) { $1 }.about(.changeForgotten))
            }
            return ReloadReply(
                applied: true, generation: applied.result.generation, summary: applied.summary,
                steps: PlanStep.all(of: applied.result.plan, withKept: tellsKept), errors: 0, warnings: result.warnings,
                diagnostics: Self.diagnostics(result.diagnostics), late: applied.result.late,
                lateReasons: applied.result.lateReasons, leftBehind: applied.result.leftBehind,
                transient: candidate.sources.layer.links)
        } catch {
            switch error {
            case .interrupted: throw .stopping
            case .initialState(let cause): return rejected("\(error)", cause.diagnostics)
            case .refused, .notStarted, .stopped, .cancelled: return rejected("\(error)")
            }
        }
    }

    /// Applies a configuration, keeps its sources, and logs problems.
    ///
    /// - Parameter log: logs the changes, and returns them in one line.
    func apply(
        _ graph: Graph, madeOf sources: ConfigurationSources, _ log: (Plan) -> String
    ) async throws(ApplyError) -> (result: Applied, summary: String) {
        // The sources are known before the configuration runs, so a look at what runs finds them.
        let present = host.generation
        // New users can open the socket's file before the exchange. Users who lose the right keep it until after the
        // exchange.
        audience.set(self.sources.access.audience.with(sources.access.audience))
        state.withLock { $0.sources.expect(sources, of: present + 1) }
        defer {
            let runs = host.generation
            let old = state.withLock { $0.sources.settle(on: runs) }
            // The old ones are released outside the lock.
            withExtendedLifetime(old) {}
            names.forget()
            audience.set(self.sources.access.audience)
        }
        let old = host.snapshot
        let applied = try await host.apply(graph, readyLimit: daemon.readyLimit, stopLimit: daemon.stopLimit)
        // Systems that are new do not know yet that the store refuses their states.
        store?.announce()
        let summary = log(applied.plan)
        store?.report(applied.plan, replacing: old)
        if !applied.late.isEmpty {
            let systems = applied.late.map { name in
                name + (applied.lateReasons[name].map { " (\($0))" } ?? "")
            }
            daemon.logger.warning(
                "not every system is ready and healthy; going on without them",
                metadata: .about(
                    .notEverythingReady,
                    [
                        "systems": "\(systems.joined(separator: ", "))",
                        "limit": "\(host.readinessLimits(of: applied.late, else: daemon.readyLimit))",
                    ]))
        }
        if !applied.leftBehind.isEmpty {
            daemon.logger.error(
                "side effects did not end in time; they are abandoned",
                metadata: .about(.leftBehind, ["systems": "\(applied.leftBehind.joined(separator: ", "))"]))
        }
        return (applied, summary)
    }
}
