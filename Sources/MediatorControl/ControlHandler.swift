public import Varlink

/// The typed methods of the control interface, as a daemon implements them.
///
/// Every function may throw ``ControlError`` or ``/Varlink/ServiceError``, which are answered as they are; any other
/// error is answered as ``ControlError/internalError(message:)`` and told to the service's observer. No function may block.
/// Those whose answers grow with the configuration run on a thread of their own, the others on the event loop of the
/// connection. All are cancelled when the client goes away.
public protocol ControlHandler: Sendable {
    /// The daemon as a whole.
    func status(peer: VarlinkPeer) async throws -> StatusReply

    /// Every system, by name.
    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary]

    /// One system in full.
    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription

    /// Every bus, by name.
    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary]

    /// One bus in full.
    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription

    /// Every link, by name.
    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary]

    /// The pending waits of one system, or of all, the first to end first.
    func listWaits(_ parameters: ListWaitsParameters, peer: VarlinkPeer) async throws -> ListWaitsReply

    /// One link in full.
    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription

    /// The present state of a system first, then every change, without a gap between the two.
    ///
    /// The handler bounds the buffer of the stream, and counts left out changes in `dropped`. When the stream ends, the
    /// watch ends with ``ControlError/watchEnded(name:reason:)``. To give a reason, throw that error from the stream.
    func watchSystem(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchSystemReply, any Error>

    /// The value of a currentValue bus first, then every value, without a gap. For a passthrough bus there are only new
    /// values.
    ///
    /// As for ``watchSystem(_:peer:)``.
    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error>

    /// Sends an event to a system.
    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws -> InjectionReply

    /// Publishes a value on a bus.
    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws -> InjectionReply

    /// Stops a system and starts it again.
    func restartSystem(_ name: String, peer: VarlinkPeer) async throws

    /// Sends a system to its initial state.
    func resetSystem(_ name: String, peer: VarlinkPeer) async throws

    /// Pauses a system.
    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply

    /// Lets a system go on.
    func resumeSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply

    /// The kinds of systems and the side effects that only this daemon knows.
    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply

    /// The present log level.
    func readLogLevel(peer: VarlinkPeer) async throws -> LogLevelReply

    /// Sets the log level.
    func setLogLevel(_ parameters: SetLogLevelParameters, peer: VarlinkPeer) async throws -> LogLevelReply

    /// All metrics, in Prometheus' text format.
    func readMetrics(peer: VarlinkPeer) async throws -> String

    /// Compares the active configuration with the one on disk.
    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply

    /// Applies the configuration on disk.
    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply

    /// The changes of links that are in no file, by link.
    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange]

    /// Adds a link.
    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply

    /// Takes a link away.
    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply

    /// Sets keys of a link.
    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply

    /// The files that the configuration that runs was made of, each behind its drop-ins' owner.
    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply]

    /// The reasons why a system is in its state.
    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply

    /// The obstacles of an event.
    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply

    /// The last steps of a system.
    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply

    /// The store of the persisted states and values.
    func describeStore(peer: VarlinkPeer) async throws -> StoreDescription

    /// Verifies the store.
    func checkStore(peer: VarlinkPeer) async throws -> CheckStoreReply

    /// All stored states, in the order of kind and name. The handler reads them as they are taken.
    func exportStore(peer: VarlinkPeer) async throws -> AsyncThrowingStream<ExportStoreReply, any Error>

    /// Removes a state from the store.
    func forgetStored(_ parameters: ForgetStoredParameters, peer: VarlinkPeer) async throws

    /// The changes of all chosen parts, their present states and values first. With ``WatchParameters/announce`` a
    /// reply ``WatchTopic/watching`` comes before these, as soon as no change of the parts can be missed.
    ///
    /// As for ``watchSystem(_:peer:)``.
    func watch(_ parameters: WatchParameters, peer: VarlinkPeer) async throws -> AsyncThrowingStream<
        WatchReply, any Error
    >
}
