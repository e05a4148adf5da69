public import Varlink

/// The control interface as a Varlink service offers it.
///
/// A method whose answer grows with the configuration, or that compiles one, takes long: it runs on no connection's event loop.
public enum ControlService {
    /// The interface with every method answered by the handler; to be registered with a ``/Varlink/VarlinkService``.
    ///
    /// - Throws: nothing as long as the definition and this function agree, which a test holds them to.
    public static func interface(handler: some ControlHandler) throws -> InterfaceImplementation {
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: ControlInterface.definition))
        try interface.register("Status", takesLong: true) { (_: Nothing, call) in
            try await handler.status(peer: call.peer)
        }
        try registerLists(in: &interface, handler)
        try registerDescriptions(in: &interface, handler)
        try registerWatches(in: &interface, handler)
        try interface.register("Emit") { (parameters: EmitParameters, call) in
            try await handler.emit(parameters, peer: call.peer)
        }
        try interface.register("Publish") { (parameters: PublishParameters, call) in
            try await handler.publish(parameters, peer: call.peer)
        }
        try interface.register("RestartSystem") { (parameters: NameParameters, call) in
            try await handler.restartSystem(parameters.name, peer: call.peer)
            return Nothing()
        }
        try interface.register("ResetSystem") { (parameters: NameParameters, call) in
            try await handler.resetSystem(parameters.name, peer: call.peer)
            return Nothing()
        }
        try interface.register("ReadMetrics", takesLong: true) { (_: Nothing, call) in
            ReadMetricsReply(text: try await handler.readMetrics(peer: call.peer))
        }
        try interface.register("Plan", takesLong: true) { (parameters: PlanParameters, call) in
            try await handler.plan(parameters, peer: call.peer)
        }
        try interface.register("Reload", takesLong: true) { (parameters: ReloadParameters, call) in
            try await handler.reload(parameters, peer: call.peer)
        }
        try registerChanges(in: &interface, handler)
        try registerSteering(in: &interface, handler)
        try registerExplanations(in: &interface, handler)
        try registerStore(in: &interface, handler)
        return interface
    }

    private static func registerSteering(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("PauseSystem") { (parameters: NameParameters, call) in
            try await handler.pauseSystem(parameters.name, peer: call.peer)
        }
        try interface.register("ResumeSystem") { (parameters: NameParameters, call) in
            try await handler.resumeSystem(parameters.name, peer: call.peer)
        }
        try interface.register("DescribeKinds", takesLong: true) { (_: Nothing, call) in
            try await handler.describeKinds(peer: call.peer)
        }
        try interface.register("ReadLogLevel") { (_: Nothing, call) in
            try await handler.readLogLevel(peer: call.peer)
        }
        try interface.register("SetLogLevel") { (parameters: SetLogLevelParameters, call) in
            try await handler.setLogLevel(parameters, peer: call.peer)
        }
    }

    private static func registerChanges(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("ListChanges", takesLong: true) { (_: Nothing, call) in
            ListChangesReply(changes: try await handler.listChanges(peer: call.peer))
        }
        try interface.register("AttachLink", takesLong: true) { (parameters: AttachParameters, call) in
            try await handler.attachLink(parameters, peer: call.peer)
        }
        try interface.register("DetachLink", takesLong: true) { (parameters: DetachParameters, call) in
            try await handler.detachLink(parameters, peer: call.peer)
        }
        try interface.register("SetLink", takesLong: true) { (parameters: SetParameters, call) in
            try await handler.setLink(parameters, peer: call.peer)
        }
        try interface.register("ReadConfiguration", takesLong: true) { (_: Nothing, call) -> ReadConfigurationReply in
            guard call.wantsMore else { throw ServiceError.expectedMore }
            let files = try await handler.readConfiguration(peer: call.peer)
            for file in files.dropLast() { try await call.send(file) }
            return files.last ?? ReadConfigurationReply(path: nil, text: "")
        }
    }

    private static func registerExplanations(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("Why", takesLong: true) { (parameters: NameParameters, call) in
            try await handler.why(parameters.name, peer: call.peer)
        }
        try interface.register("WhyNot", takesLong: true) { (parameters: WhyNotParameters, call) in
            try await handler.whyNot(parameters, peer: call.peer)
        }
        try interface.register("Trace", takesLong: true) { (parameters: TraceParameters, call) in
            try await handler.trace(parameters, peer: call.peer)
        }
    }

    private static func registerStore(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("DescribeStore", takesLong: true) { (_: Nothing, call) in
            DescribeStoreReply(store: try await handler.describeStore(peer: call.peer))
        }
        try interface.register("CheckStore", takesLong: true) { (_: Nothing, call) in
            try await handler.checkStore(peer: call.peer)
        }
        try interface.register("ExportStore", takesLong: true) { (_: Nothing, call) -> ExportStoreReply in
            guard call.wantsMore else { throw ServiceError.expectedMore }
            var last: ExportStoreReply?
            for try await state in try await handler.exportStore(peer: call.peer) {
                if let last { try await call.send(last) }
                last = state
            }
            return last ?? ExportStoreReply(part: nil, name: "")
        }
        try interface.register("ForgetStored", takesLong: true) { (parameters: ForgetStoredParameters, call) in
            try await handler.forgetStored(parameters, peer: call.peer)
            return Nothing()
        }
    }

    private static func registerLists(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("ListSystems", takesLong: true) { (_: Nothing, call) in
            ListSystemsReply(systems: try await handler.listSystems(peer: call.peer))
        }
        try interface.register("ListBuses", takesLong: true) { (_: Nothing, call) in
            ListBusesReply(buses: try await handler.listBuses(peer: call.peer))
        }
        try interface.register("ListLinks", takesLong: true) { (_: Nothing, call) in
            ListLinksReply(links: try await handler.listLinks(peer: call.peer))
        }
        try interface.register("ListWaits", takesLong: true) { (parameters: ListWaitsParameters, call) in
            try await handler.listWaits(parameters, peer: call.peer)
        }
    }

    private static func registerDescriptions(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("DescribeSystem", takesLong: true) { (parameters: NameParameters, call) in
            DescribeSystemReply(system: try await handler.describeSystem(parameters.name, peer: call.peer))
        }
        try interface.register("DescribeBus", takesLong: true) { (parameters: NameParameters, call) in
            DescribeBusReply(bus: try await handler.describeBus(parameters.name, peer: call.peer))
        }
        try interface.register("DescribeLink", takesLong: true) { (parameters: NameParameters, call) in
            DescribeLinkReply(link: try await handler.describeLink(parameters.name, peer: call.peer))
        }
    }

    private static func registerWatches(
        in interface: inout InterfaceImplementation,
        _ handler: some ControlHandler
    ) throws {
        try interface.register("WatchSystem") { (parameters: NameParameters, call) -> WatchSystemReply in
            let changes = try await handler.watchSystem(parameters.name, peer: call.peer)
            return try await watch(changes, parameters.name, call)
        }
        try interface.register("WatchBus") { (parameters: NameParameters, call) -> WatchBusReply in
            if !call.wantsMore {
                let bus = try await handler.describeBus(parameters.name, peer: call.peer)
                guard bus.summary.kind == .currentValue else { throw ServiceError.expectedMore }
            }
            let values = try await handler.watchBus(parameters.name, peer: call.peer)
            return try await watch(values, parameters.name, call)
        }
        try interface.register("Watch") { (parameters: WatchParameters, call) -> WatchReply in
            guard call.wantsMore else { throw ServiceError.expectedMore }
            let happenings = try await handler.watch(parameters, peer: call.peer)
            return try await watch(happenings, parameters.patterns.joined(separator: " "), call)
        }
    }

    /// Sends the changes; without `more`, the first one is the only reply. A watch ends with an error, since there is
    /// always one more change to wait for.
    private static func watch<Reply: Encodable & Sendable>(
        _ replies: AsyncThrowingStream<Reply, any Error>,
        _ name: String,
        _ call: MethodCall
    ) async throws -> Reply {
        for try await reply in replies {
            guard call.wantsMore else { return reply }
            try await call.send(reply)
        }
        throw ControlError.watchEnded(name: name, reason: "it was restarted or removed, or the daemon is stopping")
    }
}
