public import StrictJSON
public import Varlink

/// The control interface as a client sees it, typed.
///
/// Every function throws ``ControlError`` or ``/Varlink/ServiceError`` when the daemon answers with an error, and
/// ``/Varlink/VarlinkError`` when it cannot be reached or does not answer.
public struct ControlClient: Sendable {
    /// The connection.
    public let client: VarlinkClient

    /// A client over a connection.
    public init(_ client: VarlinkClient) {
        self.client = client
    }

    /// Connects to the daemon at a path.
    public static func connect(
        toPath path: String,
        configuration: ClientConfiguration = ClientConfiguration()
    ) async throws(VarlinkError) -> ControlClient {
        ControlClient(try await VarlinkClient.connect(toPath: path, configuration: configuration))
    }

    /// Closes the connection.
    public func close() async {
        await client.close()
    }

    /// Returns when the daemon has answered something that it can answer at once, with whatever but a refusal.
    ///
    /// - Throws: ``/Varlink/ServiceError/permissionDenied`` when the daemon refuses the client, which ends the connection, and
    ///   ``/Varlink/VarlinkError`` when the connection fails or the limit passes.
    public func checkAlive(within limit: Duration) async throws {
        do {
            _ = try await client.call("org.varlink.service.GetInfo", limit: limit)
        } catch let reply as ErrorReply {
            // With any other error it answers.
            if ServiceError(reply) == .permissionDenied { throw ServiceError.permissionDenied }
        }
    }

    /// The daemon as a whole.
    public func status() async throws -> StatusReply {
        try await call("Status", Nothing())
    }

    /// Every system, by name.
    public func listSystems() async throws -> [SystemSummary] {
        let reply: ListSystemsReply = try await call("ListSystems", Nothing())
        return reply.systems
    }

    /// One system in full.
    public func describeSystem(_ name: String) async throws -> SystemDescription {
        let reply: DescribeSystemReply = try await call("DescribeSystem", NameParameters(name: name))
        return reply.system
    }

    /// Every bus, by name.
    public func listBuses() async throws -> [BusSummary] {
        let reply: ListBusesReply = try await call("ListBuses", Nothing())
        return reply.buses
    }

    /// One bus in full.
    public func describeBus(_ name: String) async throws -> BusDescription {
        let reply: DescribeBusReply = try await call("DescribeBus", NameParameters(name: name))
        return reply.bus
    }

    /// The pending waits of one system, or of all, the first to end first.
    public func listWaits(of system: String? = nil) async throws -> ListWaitsReply {
        try await call("ListWaits", ListWaitsParameters(system: system))
    }

    /// Every link, by name.
    public func listLinks() async throws -> [LinkSummary] {
        let reply: ListLinksReply = try await call("ListLinks", Nothing())
        return reply.links
    }

    /// One link in full.
    public func describeLink(_ name: String) async throws -> LinkDescription {
        let reply: DescribeLinkReply = try await call("DescribeLink", NameParameters(name: name))
        return reply.link
    }

    /// The present state of a system, then every change. Takes the connection for itself: see
    /// ``/Varlink/VarlinkClient``.
    public func watchSystem(_ name: String) async throws -> ControlWatch<WatchSystemReply> {
        ControlWatch(
            try await client.callMore(ControlInterface.qualified("WatchSystem"), NameParameters(name: name)),
            of: "WatchSystem")
    }

    /// The value of a bus if it remembers one, then every value. Takes the connection for itself.
    public func watchBus(_ name: String) async throws -> ControlWatch<WatchBusReply> {
        ControlWatch(
            try await client.callMore(ControlInterface.qualified("WatchBus"), NameParameters(name: name)),
            of: "WatchBus")
    }

    /// Present states and values of all parts that are chosen, then every change. Takes the connection for itself.
    public func watch(_ parameters: WatchParameters) async throws -> ControlWatch<WatchReply> {
        ControlWatch(try await client.callMore(ControlInterface.qualified("Watch"), parameters), of: "Watch")
    }

    /// Sends an event to a system.
    @discardableResult
    public func emit(_ event: String, to system: String, data: JSONObject? = nil) async throws -> InjectionReply {
        try await call(
            "Emit", EmitParameters(system: system, event: event, data: data), target: system)
    }

    /// Stops a system and starts it again.
    public func restart(_ system: String) async throws {
        let _: Nothing = try await call("RestartSystem", NameParameters(name: system))
    }

    /// Sends a system to its initial state.
    public func reset(_ system: String) async throws {
        let _: Nothing = try await call("ResetSystem", NameParameters(name: system))
    }

    /// Pauses a system; whether it was not paused already.
    public func pause(_ system: String) async throws -> Bool {
        let reply: PauseReply = try await call("PauseSystem", NameParameters(name: system))
        return reply.changed
    }

    /// Lets a system go on; whether it was paused.
    public func resume(_ system: String) async throws -> Bool {
        let reply: PauseReply = try await call("ResumeSystem", NameParameters(name: system))
        return reply.changed
    }

    /// The kinds and side effects that only this daemon knows, as it prints them with `--print-kinds`.
    public func kinds() async throws -> JSONValue {
        let reply: DescribeKindsReply = try await call("DescribeKinds", Nothing())
        return reply.document
    }

    /// The present log level.
    public func logLevel() async throws -> LogLevelReply {
        try await call("ReadLogLevel", Nothing())
    }

    /// Sets the log level; nil sets the level of the daemon's start.
    public func setLogLevel(_ level: LogLevel?) async throws -> LogLevelReply {
        try await call("SetLogLevel", SetLogLevelParameters(level: level))
    }

    /// All metrics of the daemon, in Prometheus' text format.
    public func metrics() async throws -> String {
        let reply: ReadMetricsReply = try await call("ReadMetrics", Nothing())
        return reply.text
    }

    /// Publishes a value on a bus.
    @discardableResult
    public func publish(_ value: JSONValue, on bus: String) async throws -> InjectionReply {
        try await call("Publish", PublishParameters(bus: bus, value: value), target: bus)
    }

    /// Compares the active configuration with the one on disk, in the daemon's own directories or another one.
    ///
    /// - Parameters:
    ///   - directory: the directory to read, absolute; nil: those of the daemon.
    ///   - dropTransient: whether the changes of links that are in no file would be forgotten.
    ///   - all: whether the steps include parts that do not change.
    public func plan(
        directory: String? = nil, dropTransient: Bool? = nil, all: Bool? = nil
    ) async throws -> PlanReply {
        try await call("Plan", PlanParameters(directory: directory, dropTransient: dropTransient, all: all))
    }

    /// Applies the configuration on disk.
    ///
    /// - Parameters:
    ///   - dropTransient: whether to forget the changes of links that are in no file.
    ///   - all: whether the steps include parts that do not change.
    public func reload(dropTransient: Bool? = nil, all: Bool? = nil) async throws -> ReloadReply {
        try await call("Reload", ReloadParameters(dropTransient: dropTransient, all: all))
    }

    /// The changes of links that are in no file, by link.
    public func listChanges() async throws -> [TransientChange] {
        let reply: ListChangesReply = try await call("ListChanges", Nothing())
        return reply.changes
    }

    /// Adds a link.
    public func attach(_ parameters: AttachParameters) async throws -> ChangeReply {
        try await call("AttachLink", parameters)
    }

    /// Takes a link away.
    public func detach(_ parameters: DetachParameters) async throws -> ChangeReply {
        try await call("DetachLink", parameters)
    }

    /// Sets keys of a link.
    public func set(_ parameters: SetParameters) async throws -> ChangeReply {
        try await call("SetLink", parameters)
    }

    /// The files that the configuration that runs was made of. Takes the connection for itself.
    ///
    /// - Parameters:
    ///   - limit: how long to wait for all of them.
    ///   - clock: by which it is measured.
    public func readConfiguration(
        within limit: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> [ReadConfigurationReply] {
        do {
            return try await withThrowingTaskGroup(of: [ReadConfigurationReply].self) { group in
                group.addTask {
                    var files: [ReadConfigurationReply] = []
                    let replies: ReplySequence<ReadConfigurationReply> = try await client.callMore(
                        ControlInterface.qualified("ReadConfiguration"), Nothing())
                    for try await reply in replies where reply.path != nil { files.append(reply) }
                    return files
                }
                group.addTask {
                    try await clock.sleep(for: limit)
                    throw VarlinkError(.timedOut, "the service did not send all files within \(limit)")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? []
            }
        } catch let reply as ErrorReply {
            throw Self.typed(reply, to: "ReadConfiguration")
        }
    }

    /// The reasons why a system is in its state.
    public func why(_ system: String) async throws -> WhyReply {
        try await call("Why", NameParameters(name: system))
    }

    /// The obstacles of an event in a system. Nothing is sent.
    public func whyNot(_ event: String, of system: String, data: JSONObject? = nil) async throws -> WhyNotReply {
        try await call("WhyNot", WhyNotParameters(name: system, event: event, data: data))
    }

    /// The last steps of a system, the oldest first.
    public func trace(_ system: String, limit: Int? = nil) async throws -> [TraceStep] {
        let reply: TraceReply = try await call("Trace", TraceParameters(name: system, limit: limit))
        return reply.steps
    }

    /// The store of the persisted states and values.
    public func describeStore() async throws -> StoreDescription {
        let reply: DescribeStoreReply = try await call("DescribeStore", Nothing())
        return reply.store
    }

    /// Verifies the store.
    public func checkStore() async throws -> CheckStoreReply {
        try await call("CheckStore", Nothing())
    }

    /// All stored states, in the order of kind and name. Takes the connection for itself.
    public func exportStore() async throws -> ControlWatch<ExportStoreReply> {
        ControlWatch(
            try await client.callMore(ControlInterface.qualified("ExportStore"), Nothing()), of: "ExportStore")
    }

    /// Removes the state of a system or bus from the store.
    public func forgetStored(_ part: PartKind, _ name: String) async throws {
        let _: Nothing = try await call("ForgetStored", ForgetStoredParameters(part: part, name: name))
    }

    /// - Parameter target: the system or bus that is injected into.
    private func call<Reply: Decodable>(
        _ method: String, _ parameters: some Encodable, target: String? = nil
    ) async throws -> Reply {
        do {
            return try await client.call(ControlInterface.qualified(method), parameters)
        } catch let reply as ErrorReply {
            throw Self.typed(reply, to: method, target: target)
        }
    }

    /// An error reply to a method as the typed error it stands for, or itself.
    static func typed(_ reply: ErrorReply, to method: String, target: String? = nil) -> any Error {
        if let error = ControlError(reply) { return error }
        guard let error = ServiceError(reply) else { return reply }
        guard error == .permissionDenied, let right = ControlInterface.rights[method] else { return error }
        return MissingRight(right, target: target)
    }
}

/// The replies of a watch, as they come. The daemon waits while the reader does not keep up.
///
/// Throws ``ControlError/watchEnded(name:reason:)`` when there is no more.
public struct ControlWatch<Reply: Sendable>: AsyncSequence, Sendable {
    private let replies: ReplySequence<Reply>
    private let method: String

    /// - Parameter method: the called method.
    init(_ replies: ReplySequence<Reply>, of method: String) {
        self.replies = replies
        self.method = method
    }

    /// Iterates over the replies.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var replies: ReplySequence<Reply>.Iterator
        fileprivate let method: String

        /// The next reply.
        public mutating func next() async throws -> Reply? {
            do {
                return try await replies.next()
            } catch let reply as ErrorReply {
                throw ControlClient.typed(reply, to: method)
            }
        }
    }

    /// An iterator over the remaining replies.
    public func makeAsyncIterator() -> Iterator {
        Iterator(replies: replies.makeAsyncIterator(), method: method)
    }
}
