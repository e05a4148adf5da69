import Durability
import Glibc
import Logging
import MediatorConfiguration
import MediatorHost

// The configuration, checked, and the host made of it.
extension Daemon {
    /// The reason why there is no host.
    struct InvalidConfiguration: Error {
        /// The reason as a number of errno(3): of a file that could not be read, else of an invalid configuration.
        var number = EINVAL
    }

    /// Reads, checks and builds the configuration as ``run()`` does. It starts nothing, opens no store, and reports every
    /// diagnostic.
    ///
    /// - Returns: a summary in one line, and whether ``run()`` would start the configuration.
    public func check() -> (summary: String, isValid: Bool) {
        let candidate = reportedCandidate()
        guard let graph = candidate.graph, host(of: graph) == nil else {
            return (
                candidate.result.summary(of: "\(configuration)", deniesWarnings: deniesWarnings), candidate.graph != nil
            )
        }
        return ("\(configuration) is not valid: a kind of systems rejects its parameters", false)
    }

    /// Reads and checks the configuration; what is wrong is reported.
    private func reportedCandidate() -> Candidate {
        let candidate = candidate(configuration)
        for diagnostic in candidate.result.diagnostics { report(diagnostic) }
        return candidate
    }

    /// Builds the host; what is wrong is reported.
    private func host(
        of graph: Graph, continuing states: StoredStates? = nil, journal: StoreKeeper? = nil
    ) -> Host? {
        do throws(InitialStateError) {
            return try Host(
                graph: graph, effects: effects, kinds: kinds, continuing: states?.state ?? HostState(),
                details: states?.parts ?? SavedParts(), journal: journal, time: hostTime, logger: logger)
        } catch {
            for diagnostic in error.diagnostics { report(diagnostic) }
            return nil
        }
    }

    /// Reads and checks the configuration, and logs its errors and warnings.
    func checkedConfiguration() throws(InvalidConfiguration) -> (graph: Graph, sources: ConfigurationSources) {
        let candidate = reportedCandidate()
        let result = candidate.result
        guard let graph = candidate.graph else {
            let denied: Logger.Metadata = result.errors > 0 ? [:] : ["denied-warnings": "\(result.warnings)"]
            logger.critical(
                "the configuration is not valid; nothing was started",
                metadata: denied.merging(["configuration": "\(configuration)", "errors": "\(result.errors)"]) { $1 }
                    .about(.invalidConfiguration))
            throw InvalidConfiguration(
                number: result.diagnostics.lazy.compactMap(\.errorNumber).first ?? EINVAL)
        }
        if graph.systems.isEmpty {
            logger.warning(
                "there is no system in the configuration",
                metadata: .about(.noSystems, ["configuration": "\(configuration)"]))
        }
        FixedPrograms(of: graph).log(to: logger)
        return (graph, candidate.sources)
    }

    /// Builds the host of a checked configuration, and logs the errors.
    ///
    /// - Parameters:
    ///   - states: The states from which the host goes on.
    ///   - journal: The journal of what persists; `nil` to keep everything in memory.
    func buildHost(
        of graph: Graph, continuing states: StoredStates? = nil, journal: StoreKeeper? = nil
    ) throws(InvalidConfiguration) -> Host {
        guard let host = host(of: graph, continuing: states, journal: journal) else {
            logger.critical(
                "the configuration is not valid; nothing was started", metadata: .about(.invalidConfiguration))
            throw InvalidConfiguration()
        }
        return host
    }

    /// The reason why the daemon does not start.
    struct NoStart: Error {
        let reason: String
        let number: Int32?
        let status: ExitStatus
    }

    /// Checks the configuration, opens the store if it needs one, and builds the host, which goes on from the earlier states. Logs
    /// every error.
    func build(
        continuing keeper: StateKeeper, _ store: StoreKeeper
    ) async throws(NoStart) -> (host: Host, sources: ConfigurationSources) {
        func valid<Value>(_ body: () throws(InvalidConfiguration) -> Value) throws(NoStart) -> Value {
            do throws(InvalidConfiguration) { return try body() } catch {
                throw NoStart(
                    reason: "the configuration is not valid", number: error.number, status: .invalidConfiguration)
            }
        }
        let (graph, sources) = try valid(checkedConfiguration)
        let states = try await storedStates(in: store, inherited: keeper.inherited(), for: graph)
        let host = try valid { () throws(InvalidConfiguration) in
            try buildHost(of: graph, continuing: states, journal: store)
        }
        keeper.report(host.continuation, without: states)
        store.report(states, host.continuation)
        return (host, sources)
    }

    /// Opens the store, and returns the states from which the host goes on.
    private func storedStates(
        in store: StoreKeeper, inherited: HostState, for graph: Graph
    ) async throws(NoStart) -> StoredStates {
        do throws(StoreKeeper.Problem) {
            let contents = try await store.open(for: graph)
            return StoredStates(contents, inherited: inherited, for: graph)
        } catch {
            guard error.trouble != .locked else {
                let reason = "cannot use the store: \(error.flaw.reason)"
                logger.critical(
                    "\(reason); \(error.flaw.remedy)", metadata: .about(.storeNotUsed))
                throw NoStart(reason: reason, number: EWOULDBLOCK, status: .noControlSocket)
            }
            guard !error.isNoThread else {
                logger.critical("\(DaemonThreads.refusal)")
                throw NoStart(reason: DaemonThreads.refusal, number: EAGAIN, status: .noThreads)
            }
            store.runInMemory(because: error)
            return StoredStates(nil, inherited: inherited, for: graph)
        }
    }
}
