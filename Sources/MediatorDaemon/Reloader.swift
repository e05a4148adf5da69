import CommonExpression
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Synchronization
import Systemd

/// Makes what runs into what is written, and tells everyone how it went: who asked, the log, and the service manager.
final class Reloader: Sendable {
    /// How many findings a reply carries at most.
    static let findingLimit = 200

    private struct Machine {
        var isReady = false
        /// Whether a reload that nobody waits for has been asked for and not begun.
        var isDue = false
        var verdict: ReloadVerdict?
    }

    private let daemon: Daemon
    private let host: Host
    /// One reload at a time, reading included: the last to ask gets what was written when it asked, or later.
    private let queue: AsyncStream<@Sendable () async -> Void>.Continuation
    private let machine = Mutex(Machine())

    init(_ daemon: Daemon, _ host: Host) {
        self.daemon = daemon
        self.host = host
        let (jobs, queue) = AsyncStream<@Sendable () async -> Void>.makeStream()
        self.queue = queue
        Task.detached { for await job in jobs { await job() } }
    }

    deinit { queue.finish() }

    /// How the last reload ended.
    var verdict: ReloadVerdict? { machine.withLock { $0.verdict } }

    /// The service manager has been told that the daemon is ready. Before that, it is told of no reload.
    func becomeReady() {
        machine.withLock { $0.isReady = true }
    }

    /// What a reload would do, of the daemon's own directories or of another.
    func plan(_ directory: String?) async -> PlanReply {
        let layers = directory.map { ConfigurationLayers([$0]) } ?? daemon.configuration
        return await Task.detached { [self] in
            let result = daemon.compile(layers)
            let findings = Self.findings(result.diagnostics)
            guard let graph = result.graph else {
                return PlanReply(
                    valid: false, summary: Self.rejection(result), errors: result.errors, warnings: result.warnings,
                    findings: findings)
            }
            let plan = host.plan(for: graph)
            return PlanReply(
                valid: true, summary: plan.summary, steps: PlanStep.all(of: plan), errors: 0,
                warnings: result.warnings, findings: findings)
        }.value
    }

    /// Reads the daemon's directories and applies what they hold, or changes nothing.
    ///
    /// - Parameter cause: who asked for it, for the log.
    func reload(_ cause: Logger.Metadata) async -> ReloadReply {
        await withCheckedContinuation { (continuation: CheckedContinuation<ReloadReply, Never>) in
            let result = queue.yield { [self] in continuation.resume(returning: await perform(cause)) }
            // The queue has no limit, and ends only with the reloader, which is in use here.
            if case .enqueued = result { return }
            preconditionFailure("a queue in use is open")
        }
    }

    /// Reloads soon, and returns at once. Several that are asked for before the first begins are one.
    func reloadSoon(_ cause: Logger.Metadata) {
        let isDue = machine.withLock { machine in
            defer { machine.isDue = true }
            return machine.isDue
        }
        guard !isDue else { return }
        queue.yield { [self] in
            machine.withLock { $0.isDue = false }
            _ = await perform(cause)
        }
    }

    private func perform(_ cause: Logger.Metadata) async -> ReloadReply {
        let tellsManager = machine.withLock { $0.isReady }
        if tellsManager { daemon.notifier.notify(.reloading(), .status("reloading the configuration")) }
        let reply = await apply(cause)
        let time = "\(Daemon.now())"
        machine.withLock {
            $0.verdict = ReloadVerdict(time: time, applied: reply.applied, summary: reply.summary)
        }
        let verdict = reply.applied ? "" : "reload rejected: \(reply.summary); "
        if tellsManager { daemon.notifier.notify(.ready, .status(verdict + host.statusText)) }
        return reply
    }

    private func apply(_ cause: Logger.Metadata) async -> ReloadReply {
        let logger = daemon.logger
        let result = daemon.compile(daemon.configuration)
        for diagnostic in result.diagnostics { daemon.report(diagnostic) }
        func rejected(_ summary: String, _ more: [Diagnostic] = []) -> ReloadReply {
            for diagnostic in more { daemon.report(diagnostic) }
            logger.error("reload rejected: \(summary); nothing was changed", metadata: cause)
            return ReloadReply(
                applied: false, generation: host.generation, summary: summary, errors: result.errors + more.count,
                warnings: result.warnings, findings: Self.findings(result.diagnostics + more))
        }
        guard let graph = result.graph else { return rejected(Self.rejection(result)) }
        do throws(ApplyError) {
            let applied = try await host.apply(graph, readyLimit: daemon.readyLimit, stopLimit: daemon.stopLimit)
            let summary = applied.plan.summary
            logger.notice("reloaded: \(summary)", metadata: cause)
            if !applied.late.isEmpty {
                logger.warning(
                    "not everything is ready; going on without",
                    metadata: ["systems": "\(applied.late.joined(separator: ", "))", "limit": "\(daemon.readyLimit)"])
            }
            if !applied.leftBehind.isEmpty {
                logger.error(
                    "side effects did not end in time; leaving them behind",
                    metadata: ["systems": "\(applied.leftBehind.joined(separator: ", "))"])
            }
            return ReloadReply(
                applied: true, generation: applied.generation, summary: summary,
                steps: PlanStep.all(of: applied.plan), errors: 0, warnings: result.warnings,
                findings: Self.findings(result.diagnostics), late: applied.late, leftBehind: applied.leftBehind)
        } catch {
            guard case .initialState(let cause) = error else { return rejected("\(error)") }
            return rejected("\(error)", cause.diagnostics)
        }
    }

    private static func rejection(_ result: CompilationResult) -> String {
        result.errors == 1 ? "1 error in the configuration" : "\(result.errors) errors in the configuration"
    }

    private static func findings(_ diagnostics: [Diagnostic]) -> [Finding] {
        diagnostics.sorted().prefix(findingLimit).map { diagnostic in
            Finding(
                severity: diagnostic.severity.rawValue, code: diagnostic.code.rawValue,
                location: diagnostic.location.map { "\($0)" }, message: diagnostic.message, text: diagnostic.rendered())
        }
    }
}

extension InitialStateError {
    /// What is wrong, each with its place.
    var diagnostics: [Diagnostic] {
        all.map { Diagnostic(code: .initialState, location: $0.source, message: $0.description) }
    }
}

extension PlanStep {
    /// The steps of a plan, in the words of the control interface.
    static func all(of plan: Plan) -> [PlanStep] {
        plan.systems.map {
            PlanStep(kind: .system, name: $0.name, fate: Fate($0.fate), reason: $0.reason, ending: $0.ending)
        }
            + plan.buses.map {
                PlanStep(
                    kind: .bus, name: $0.name, fate: Fate($0.fate),
                    value: $0.value.map { $0 == .keep ? .keep : .initial }, reason: $0.reason)
            } + plan.links.map { PlanStep(kind: .link, name: $0.name, fate: Fate($0.fate), reason: $0.reason) }
    }
}

extension Fate {
    init(_ fate: Plan.SystemFate) {
        switch fate {
        case .keep: self = .keep
        case .migrate: self = .migrate
        case .restart: self = .restart
        case .add: self = .add
        case .remove: self = .remove
        }
    }

    init(_ fate: Plan.Fate) {
        switch fate {
        case .keep: self = .keep
        case .change: self = .change
        case .add: self = .add
        case .remove: self = .remove
        }
    }
}
