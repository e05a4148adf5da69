import Glibc
import MediatorControl
import StrictJSON
import Synchronization
import Testing
import TestSupport
import Varlink

/// A daemon with one system and two buses.
private struct SmallHandler: ControlHandler {
    struct Broken: Error {}

    let summary = SystemSummary(
        name: "disk",
        health: .healthy,
        state: SystemState(name: "Full"),
        since: "2026-01-02T03:04:05Z"
    )

    func status(peer: VarlinkPeer) async throws -> StatusReply { throw Broken() }

    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary] { [summary] }

    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription {
        guard name == "disk" else { throw ControlError.noSuchSystem(name: name, nearest: "disk") }
        return SystemDescription(
            summary: summary, states: [], events: [], initialState: "Full",
            supervision: Supervision(onFault: "stop", delay: "1s", maxDelay: "1m", limit: "10 per 10m", beyond: "stop"),
            mailbox: Mailbox(limit: 8, overflow: "dropNewest"))
    }

    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary] { [] }

    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription {
        let kind: BusKind = name == "through" ? .passthrough : .currentValue
        return BusDescription(
            summary: BusSummary(name: name, kind: kind, valueType: "int"),
            limit: 1,
            overflow: "dropOldest"
        )
    }

    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary] { [] }

    func listWaits(_ parameters: ListWaitsParameters, peer: VarlinkPeer) async throws -> ListWaitsReply {
        ListWaitsReply(waits: [])
    }

    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription {
        throw ControlError.noSuchLink(name: name, nearest: nil)
    }

    func watchSystem(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchSystemReply, any Error>
    {
        let state = summary.state
        return AsyncThrowingStream { continuation in
            for dropped in 0..<3 {
                let time = "2026-01-02T03:04:05Z"
                continuation.yield(WatchSystemReply(time: time, replayed: dropped == 0, state: state, dropped: dropped))
            }
            continuation.finish()
        }
    }

    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        PlanReply(valid: true, summary: parameters.directory ?? "none")
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        ReloadReply(applied: true, generation: 7, summary: parameters.dropTransient == true ? "dropped" : "1 kept")
    }

    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange] {
        [TransientChange(link: "tell", kind: .changed, text: "links: {}")]
    }

    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        throw ControlError.linkExists(name: parameters.link)
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        throw ControlError.cannotPersist(path: "/etc/\(parameters.link)", reason: "it is full")
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        ChangeReply(valid: true, applied: parameters.dryRun != true, generation: 8, summary: parameters.link)
    }

    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply {
        WhyReply(hops: [CauseHop(kind: .state, system: name, text: "it is")], cut: true)
    }

    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply {
        WhyNotReply(state: SystemState(name: parameters.event, data: parameters.data ?? [:]), since: parameters.name)
    }

    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply {
        TraceReply(
            steps: (0..<(parameters.limit ?? 2)).map { TraceStep(kind: .stay, time: "\($0)", text: parameters.name) })
    }

    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply] {
        [
            ReadConfigurationReply(path: "a.yaml", text: "a"),
            ReadConfigurationReply(path: "<control x>", owner: "a.yaml", text: "b", transient: true),
        ]
    }

    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error> {
        AsyncThrowingStream { continuation in
            continuation.yield(WatchBusReply(time: "2026-01-02T03:04:05Z", replayed: true, value: nil))
            continuation.finish(throwing: ControlError.watchEnded(name: name, reason: "removed"))
        }
    }

    func watch(
        _ parameters: WatchParameters, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchReply, any Error> {
        AsyncThrowingStream { continuation in
            let name = parameters.condition ?? "none"
            continuation.yield(WatchReply(time: "2026-01-02T03:04:05Z", topic: .began, kind: .link, name: name))
            continuation.finish()
        }
    }

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        throw ControlError.notAccepted(name: parameters.system, obstacle: .other, reason: parameters.event)
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        throw ControlError.notAccepted(name: name, obstacle: .other, reason: "restart")
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String { "# TYPE x gauge\nx 1\n" }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        throw ControlError.notAccepted(name: name, obstacle: .other, reason: "reset")
    }

    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply { PauseReply(changed: true) }

    func resumeSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply { PauseReply(changed: false) }

    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply {
        DescribeKindsReply(document: ["version": 1, "kinds": []])
    }
    func readLogLevel(peer: VarlinkPeer) async throws -> LogLevelReply { LogLevelReply(level: .info, given: .info) }

    func setLogLevel(_ parameters: SetLogLevelParameters, peer: VarlinkPeer) async throws -> LogLevelReply {
        LogLevelReply(level: parameters.level ?? .info, given: .info)
    }

    func describeStore(peer: VarlinkPeer) async throws -> StoreDescription { StoreDescription(mode: .unneeded) }

    func checkStore(peer: VarlinkPeer) async throws -> CheckStoreReply { CheckStoreReply(states: 1, damage: []) }

    func exportStore(peer: VarlinkPeer) async throws -> AsyncThrowingStream<ExportStoreReply, any Error> {
        AsyncThrowingStream { continuation in
            for name in ["disk", "fan"] { continuation.yield(ExportStoreReply(part: .system, name: name, content: 1)) }
            continuation.finish()
        }
    }

    func forgetStored(_ parameters: ForgetStoredParameters, peer: VarlinkPeer) async throws {
        throw ControlError.notAccepted(name: parameters.name, obstacle: .other, reason: parameters.part.rawValue)
    }

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        guard peer.processID == getpid() else { throw ServiceError.permissionDenied }
        return InjectionReply()
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ControlServiceTests {
    private func withControl(_ body: (ControlClient) async throws -> Void) async throws {
        let directory = TemporaryDirectory()
        let service = try await VarlinkService.start(
            at: .path(directory("socket")),
            interfaces: [ControlService.interface(handler: SmallHandler())],
            configuration: ServiceConfiguration(vendor: "test", product: "test", version: "1", url: "test")
        )
        let control = try await ControlClient.connect(toPath: directory("socket"))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(control))
        } catch {
            result = .failure(error)
        }
        await control.close()
        await service.close()
        try result.get()
    }

    @Test func `only what takes a moment runs on the event loop of its connection`() throws {
        let interface = try ControlService.interface(handler: SmallHandler())
        let all = interface.definition.members.compactMap { member -> String? in
            if case .method(let method) = member { method.name } else { nil }
        }
        let short: Set = [
            "Emit", "Publish", "RestartSystem", "ResetSystem", "PauseSystem", "ResumeSystem", "ReadLogLevel",
            "SetLogLevel", "WatchSystem", "WatchBus", "Watch",
        ]
        #expect(interface.methodsThatTakeLong == Set(all).subtracting(short))
    }

    @Test func `typed calls have typed answers and typed errors`() async throws {
        try await withControl { control in
            #expect(try await control.listSystems() == [SmallHandler().summary])
            #expect(try await control.listBuses().isEmpty)
            #expect(try await control.listLinks().isEmpty)
            #expect(try await control.describeSystem("disk").initialState == "Full")
            #expect(try await control.describeBus("through").summary.kind == .passthrough)
            try await control.publish(1, on: "through")
            await #expect(throws: ControlError.noSuchSystem(name: "dsik", nearest: "disk")) {
                try await control.describeSystem("dsik")
            }
            await #expect(throws: ControlError.noSuchLink(name: "x", nearest: nil)) {
                try await control.describeLink("x")
            }
            await #expect(throws: ControlError.notAccepted(name: "disk", obstacle: .other, reason: "Measured")) {
                try await control.emit("Measured", to: "disk", data: ["percent": 1])
            }
            await #expect(throws: ServiceError.invalidParameter(parameter: "value")) {
                try await control.publish(nil, on: "through")
            }
            let error = await #expect(throws: ControlError.self) { try await control.status() }
            guard case .internalError = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `the store is shown, checked and exported, and a state is forgotten`() async throws {
        try await withControl { control in
            #expect(try await control.describeStore().mode == .unneeded)
            #expect(try await control.checkStore().states == 1)
            await #expect(throws: ControlError.notAccepted(name: "disk", obstacle: .other, reason: "system")) {
                try await control.forgetStored(.system, "disk")
            }
            await #expect(throws: ServiceError.expectedMore) {
                do {
                    let _: ExportStoreReply = try await control.client.call(
                        ControlInterface.qualified("ExportStore"), Nothing())
                } catch let reply as ErrorReply {
                    throw ServiceError(reply) ?? .methodNotFound(method: "")
                }
            }
            var names: [String] = []
            for try await state in try await control.exportStore() { names.append(state.name) }
            #expect(names == ["disk", "fan"])
        }
    }

    @Test func `a link is changed, and what is wrong with that has errors of its own`() async throws {
        try await withControl { control in
            #expect(try await control.reload(dropTransient: true).summary == "dropped")
            #expect(try await control.reload().summary == "1 kept")
            #expect(try await control.listChanges().map(\.link) == ["tell"])
            #expect(try await control.set(SetParameters(link: "x", settings: [])).applied)
            let dry = try await control.set(SetParameters(link: "x", settings: [], dryRun: true))
            #expect(!dry.applied)
            await #expect(throws: ControlError.linkExists(name: "x")) {
                try await control.attach(AttachParameters(link: "x"))
            }
            await #expect(throws: ControlError.cannotPersist(path: "/etc/x", reason: "it is full")) {
                try await control.detach(DetachParameters(link: "x", persist: true))
            }
            let read = ControlInterface.qualified("ReadConfiguration")
            await #expect(throws: ServiceError.expectedMore.errorReply) {
                try await control.client.call(read, parameters: [:])
            }
            #expect(try await control.why("disk").hops.map(\.system) == ["disk"])
            let answer = try await control.whyNot("Full", of: "disk", data: ["percent": 97])
            #expect(answer.state == SystemState(name: "Full", data: ["percent": 97]) && answer.since == "disk")
            #expect(try await control.trace("disk").map(\.text) == ["disk", "disk"])
            #expect(try await control.trace("disk", limit: 1).count == 1)
            #expect(try await control.readConfiguration().map(\.path) == ["a.yaml", "<control x>"])
        }
    }

    @Test func `a watch that ends says so, with the handler's reason where it has one`() async throws {
        try await withControl { control in
            var dropped: [Int] = []
            let error = await #expect(throws: ControlError.self) {
                for try await reply in try await control.watchSystem("disk") { dropped.append(reply.dropped) }
            }
            #expect(dropped == [0, 1, 2])
            let reason = "it was restarted or removed, or the daemon is stopping"
            #expect(error == .watchEnded(name: "disk", reason: reason))
            await #expect(throws: ControlError.watchEnded(name: "value", reason: "removed")) {
                for try await _ in try await control.watchBus("value") {}
            }
        }
        // Of a watch of many things nothing is named.
        let many = ControlError.watchEnded(name: "", reason: "it is stopping")
        #expect("\(many)" == "what was watched can no longer be watched: it is stopping")
    }

    @Test func `a watch without more is the present state, and of a passthrough bus refused`() async throws {
        try await withControl { control in
            let name = ControlInterface.qualified("WatchSystem")
            let reply: WatchSystemReply = try await control.client.call(name, NameParameters(name: "disk"))
            #expect(reply.replayed)
            let bus = ControlInterface.qualified("WatchBus")
            #expect(try await control.client.call(bus, parameters: ["name": "value"])["replayed"] == true)
            await #expect(throws: ServiceError.expectedMore.errorReply) {
                try await control.client.call(bus, parameters: ["name": "through"])
            }
        }
    }

    @Test(
        arguments: [
            ([:], 0, "/run/mediatord/io.mediatord.Control"), ([:], 1000, "/tmp/mediatord-1000/io.mediatord.Control"),
            (["XDG_RUNTIME_DIR": "/run/user/1000"], 1000, "/run/user/1000/mediatord/io.mediatord.Control"),
            (["XDG_RUNTIME_DIR": "/run/user/0"], 0, "/run/mediatord/io.mediatord.Control"),
            (["XDG_RUNTIME_DIR": ""], 1000, "/tmp/mediatord-1000/io.mediatord.Control"),
            (["MEDIATORD_SOCKET": "/x", "XDG_RUNTIME_DIR": "/y"], 0, "/x"),
            (["MEDIATORD_SOCKET": ""], 0, "/run/mediatord/io.mediatord.Control"),
        ] as [([String: String], UInt32, String)])
    func `the socket lies where its user looks for it`(variables: [String: String], userID: UInt32, path: String) {
        #expect(ControlSocket.path(environment: { variables[$0] }, userID: userID) == path)
    }

    @Test func `a directory others can write to is no place for the socket`() throws {
        let directory = TemporaryDirectory()
        let inner = directory("inner")
        #expect {
            try ControlSocket.prepareDirectory(ofPath: inner + "/socket", mayMake: false)
        } throws: {
            ($0 as? VarlinkError)?.message.hasPrefix(
                "there is no directory '\(inner)' for the control socket; make it, or")
                == true
        }
        try ControlSocket.prepareDirectory(ofPath: inner + "/socket")
        try ControlSocket.prepareDirectory(ofPath: inner + "/socket", mayMake: false)
        var status = stat()
        #expect(lstat(inner, &status) == 0 && status.st_mode & 0o022 == 0)

        func reason(_ path: String, userID: UInt32? = nil) -> String {
            do throws(VarlinkError) {
                try ControlSocket.prepareDirectory(ofPath: path, userID: userID)
                return ""
            } catch {
                return error.message
            }
        }
        let otherwise = "choose another path with --socket or MEDIATORD_SOCKET"
        for (mode, who) in [(0o777, "others"), (0o775, "members of a group"), (0o771, "members of a group")] {
            chmod(inner, mode_t(mode))
            #expect(
                reason(inner + "/socket")
                    == "\(who) can write to '\(inner)', and could put another socket there; forbid that with "
                    + "`chmod go-w '\(inner)'`, or \(otherwise)")
        }
        chmod(inner, 0o1777)
        #expect(reason(inner + "/socket").isEmpty)
        chmod(inner, 0o750)
        // Root gives the directory to somebody; anybody else is somebody to the user asked about.
        if geteuid() == 0 { chown(inner, 54321, 54321) }
        let owner = geteuid() == 0 ? 54321 : geteuid()
        #expect(
            reason(inner + "/socket", userID: 12345) == "'\(inner)' is owned by another user (\(owner)), who could put "
                + "another socket there; run as that user, or \(otherwise)")
        rmdir(inner)
        symlink("/tmp", inner)
        #expect(reason(inner + "/socket") == "'\(inner)' is a symbolic link, not a directory; \(otherwise)")
        let missing = #expect(throws: VarlinkError.self) {
            try ControlSocket.prepareDirectory(ofPath: "\(directory)/no/where/socket")
        }
        #expect(missing?.errorNumber == ENOENT)
        #expect(
            reason("\(directory)/no/where/socket")
                == "cannot make the directory '\(directory)/no/where' of the control socket: No such file or directory; "
                + "make the directory in which it is to lie, or \(otherwise)")
    }
}
