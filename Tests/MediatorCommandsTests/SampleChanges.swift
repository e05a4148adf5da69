import MediatorControl
import StrictJSON
import Synchronization
import Varlink

extension SampleHandler {
    private static func steps(_ all: Bool?) -> [PlanStep] {
        (all == true ? [PlanStep(kind: .system, name: "backup", action: .keep)] : []) + changes
    }

    private static let changes = [
        PlanStep(
            kind: .system, name: "disk-guard", action: .restart,
            reason: "it is in the state 'Full', which there is no more",
            feedbacks: FeedbackChanges(goingOn: ["measure"], ending: ["probe"])),
        PlanStep(
            kind: .bus, name: "alarms", action: .change, value: .keep, reason: "its definition has changed",
            changes: [
                PartChange(
                    part: "value", change: .changed, old: "a.yaml:3:10", new: "a.yaml:4:10", oldValue: "int",
                    newValue: "not text"),
                PartChange(part: "initial", change: .removed, old: "a.yaml:4:12"),
                PartChange(part: "limit or overflow", change: .changed),
            ], moreChanges: 2),
    ]

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        guard parameters.event != "Reset" else {
            throw ControlError.notAccepted(name: parameters.system, obstacle: .full, reason: "its mailbox is full")
        }
        let isRefused = state.withLock { state in
            defer { state.refusals = max(0, state.refusals - 1) }
            if state.refusals == 0 { state.emitted.append(parameters) }
            return state.refusals > 0
        }
        if isRefused {
            throw ControlError.notAccepted(name: parameters.system, obstacle: .stopping, reason: "it is stopping")
        }
        return InjectionReply(time: state.withLock { $0.taken })
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(name: name, obstacle: .stopping, reason: "it is stopping")
        }
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String { "# TYPE x gauge\nx 1\n" }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(
                name: name, obstacle: .ended, reason: "it has ended on account of a fault; restart it")
        }
    }

    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        _ = try await describeSystem(name, peer: peer)
        guard name != "backup" else {
            throw ControlError.notAccepted(name: name, obstacle: .stopping, reason: "it is stopping")
        }
        return PauseReply(changed: health != .degraded)
    }

    func resumeSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        _ = try await describeSystem(name, peer: peer)
        return PauseReply(changed: health != .starting)
    }

    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply {
        let speaker = #"{"name":"speaker","parameters":[],"states":[{"name":"On"}],"events":[{"name":"Louder"}]}"#
        return DescribeKindsReply(document: try JSONValue(parsing: "{\"version\":1,\"kinds\":[\(speaker)]}"))
    }

    func readLogLevel(peer: VarlinkPeer) async throws -> LogLevelReply { LogLevelReply(level: .info, given: .info) }

    func setLogLevel(_ parameters: SetLogLevelParameters, peer: VarlinkPeer) async throws -> LogLevelReply {
        LogLevelReply(level: parameters.level ?? .info, given: .info)
    }

    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        guard parameters.directory == nil else {
            return PlanReply(
                valid: false, summary: "1 error in the configuration", errors: 1, warnings: 0,
                diagnostics: [
                    ReportedDiagnostic(
                        severity: "error", code: "unknown-key", location: "a.yaml:1:1", message: "wrong",
                        text: "a.yaml:1:1: error: wrong\n  sytem: x\n  ^")
                ])
        }
        return PlanReply(valid: true, summary: "1 kept, 1 restarted; 1 bus changed", steps: Self.steps(parameters.all))
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        if parameters.dropTransient == true { return ReloadReply(applied: true, generation: 2, summary: "dropped") }
        return switch health {
        case .healthy:
            ReloadReply(
                applied: true, generation: 2, summary: "1 kept, 1 restarted; 1 bus changed",
                steps: Self.steps(parameters.all))
        case .failed:
            ReloadReply(applied: false, generation: 1, summary: "everything is being stopped")
        default:
            ReloadReply(
                applied: true, generation: 2, summary: "1 added", late: ["bad", "slow"],
                lateReasons: [
                    "bad": "failed: its state is 'Down'",
                    "slow": "not ready in time: its state is 'A', and it is ready in 'B'",
                ], leftBehind: ["old"])
        }
    }

    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange] {
        guard health == .degraded else { return [] }
        return [
            TransientChange(link: "tell-full", kind: .changed, text: "links:\n  tell-full:\n    when: true\n"),
            TransientChange(link: "ring", kind: .detached, text: "links:\n  ring: null\n"),
        ]
    }

    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        guard parameters.link != "tell-full" else { throw ControlError.linkExists(name: parameters.link) }
        if parameters.link == "there" {
            return ChangeReply(
                valid: true, applied: parameters.dryRun != true, changed: false, generation: 1,
                summary: "link 'there' is there already")
        }
        let settings = parameters.settings.map { "\($0.key)=\($0.value)" }
        return try change("\(parameters.definition ?? "none") \(settings)", parameters.persist, parameters.dryRun)
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        if parameters.link == "late" {
            throw ControlError.cannotPersist(path: "/a/90.yaml", reason: "'/a/95.yaml' is later", winner: "/a/95.yaml")
        }
        guard parameters.link == "tell-full" else {
            throw ControlError.noSuchLink(name: parameters.link, nearest: "tell-full")
        }
        guard parameters.persist != true else {
            throw ControlError.cannotPersist(
                path: "/etc/mediatord/x.yaml", reason: "Read-only file system", isDenied: true)
        }
        return try change("detach", parameters.persist, parameters.dryRun)
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        if parameters.link == "away" { throw ControlError.linkDetached(name: parameters.link) }
        guard parameters.link == "tell-full" else {
            throw ControlError.linkOfInstances(name: parameters.link, link: "tell")
        }
        let settings = parameters.settings.map { "\($0.key)=\($0.value)" }
        return try change("\(settings)", parameters.persist, parameters.dryRun)
    }

    /// The result of a change, by the health of all: applied, rejected, or applied late.
    private func change(_ what: String, _ persists: Bool?, _ isDryRun: Bool?) throws -> ChangeReply {
        state.withLock { $0.changes.append(what) }
        let step = PlanStep(kind: .link, name: "tell-full", action: .change, reason: "its definition has changed")
        guard health != .failed else {
            return ChangeReply(
                valid: false, applied: false, generation: 1, summary: "1 error in the configuration", errors: 1,
                diagnostics: [
                    ReportedDiagnostic(
                        severity: "error", code: "unknown-bus", location: "<control x>:1:1", message: "wrong",
                        text: "<control x>:1:1: error: wrong")
                ])
        }
        let file = WrittenFile(path: "/etc/mediatord/90-mediatorctl.yaml", text: "# Written\nlinks: {}\n")
        return ChangeReply(
            valid: true, applied: isDryRun != true, generation: 2, summary: "2 kept; 1 link changed", steps: [step],
            late: health == .starting ? ["slow"] : [], transient: persists == true ? [] : ["tell-full", "x"],
            file: persists == true ? file : nil)
    }

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        state.withLock { $0.published.append(parameters) }
        return InjectionReply(time: state.withLock { $0.taken })
    }
}
