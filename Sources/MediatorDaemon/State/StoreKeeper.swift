import CommonExpression
package import Durability
import Glibc
package import Logging
package import MediatorConfiguration
package import MediatorHost
import SideEffects
import Synchronization
import Systemd

/// Keeps the states of systems and buses that persist in a store: the journal of the host.
///
/// The store is opened with the first configuration that needs it, and stays open until the daemon ends. Without a
/// store, or with one that cannot be used, every change takes effect at once, in memory.
package final class StoreKeeper: StateJournal {
    /// The time between two attempts to store refused changes.
    static let retryPeriod = Duration.seconds(5)
    /// The time for the first commit of this life. After it the systems start without it.
    static let beginLimit = Duration.seconds(30)
    /// The time limit to commit the queued changes when the daemon ends.
    static let closeLimit = Duration.seconds(5)
    /// The number of starts that never became ready after which persisted systems begin with a pause.
    static let startLimit: UInt64 = 3
    /// The reason for that pause, with the remedy.
    static let pauseReason = """
        \(startLimit) starts or more in a row never became ready; look for the reason in the log, then \
        `mediatorctl resume` it
        """
    /// The reason why the daemon ends if the store fails for good.
    static let refusal = "the disk may not have the last states; see the log"
    /// The maximum number of log lines about damage, or about parts that start without their stored states.
    static let mostLines = 20

    /// Makes a closed store in a directory. The function receives the reason when the store fails for good.
    package typealias Maker =
        @Sendable (_ directory: String, _ failed: @escaping @Sendable (StoreTrouble) -> Void) throws(StoreTrouble) ->
        any PartStore

    /// The reason why the store cannot be opened.
    package struct Problem: Error {
        /// The trouble of the store, or `nil` if its directory is not used.
        package var trouble: StoreTrouble?
        package var flaw: StorePlace.Flaw

        /// Whether the system has no thread for the store.
        var isNoThread: Bool { trouble == .system(call: "pthread_create", number: 0) }
    }

    enum Phase {
        /// Nothing has needed a store.
        case unopened
        /// The store cannot be used, for a reason in words.
        case inMemory(String)
        /// The store, and its contents without the parts.
        case open(any PartStore, StoreContents)
        case failed
        case closed
    }

    struct State {
        var phase = Phase.unopened
        var outbox = StoreOutbox()
        var directory = ""
        /// A Boolean value that indicates whether the store is written. Changes wait until then.
        var hasBegun = false
        /// Ends when no thread sends changes any more.
        var sent: AsyncStream<Void>.Continuation?
        /// The persisted systems that begin with a pause.
        var paused: Set<String> = []
        /// A Boolean value that indicates whether the next start may be a usual one.
        var mayBeReady = true
        /// Receives `false` if the store fails for good while its first commit is awaited.
        var beginning: AsyncStream<Bool>.Continuation?
        /// The parts whose last state could not be encoded, with the reasons.
        var unencoded: [PartKey: String] = [:]
        var ledger = StoreLedger()
    }

    private let place: StorePlace?
    let clock: any Clock<Duration>
    let logger: Logger
    private let make: Maker
    let state = Mutex(State())
    /// The reason why the store failed for good. The daemon must end then.
    package let failures: AsyncStream<StoreTrouble>
    private let failure: AsyncStream<StoreTrouble>.Continuation
    /// An element for one or more possible changes of ``troubles(of:)``.
    let news: AsyncStream<Void>
    let newsSender: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - place: The directory of the store; `nil` if the daemon has no such directory.
    ///   - clock: The clock for the attempts to store refused changes.
    package init(
        _ place: StorePlace?, clock: any Clock<Duration>, logger: Logger, make: @escaping Maker
    ) {
        self.place = place
        self.clock = clock
        self.logger = logger
        self.make = make
        (failures, failure) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        (news, newsSender) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The store on the disk, beside a control socket.
    static func onDisk(headCopy: String) -> Maker {
        { (directory, failed) throws(StoreTrouble) in
            try DiskStore(
                DiskStoreSettings(
                    directory: directory, headCopy: headCopy, startThread: { DetachedThread.start($0) }, failed: failed)
            )
        }
    }

    // MARK: Opening

    /// Opens the store if a configuration needs it and it is not open, and returns its contents, else `nil`. Nothing is
    /// written.
    package func open(for graph: Graph) async throws(Problem) -> StoreContents? {
        guard graph.needsStore, case .unopened = state.withLock({ $0.phase }) else { return nil }
        let opened: Result<(String, any PartStore, StoreContents), Problem>
        do {
            opened = try await Blocking.call { [self] in Result { () throws(Problem) in try load() } }
        } catch {
            throw Problem(trouble: .system(call: "pthread_create", number: 0), flaw: .init("\(error)"))
        }
        let (directory, store, contents) = try opened.get()
        var rest = contents
        rest.parts = []
        rest.flaws = []
        state.withLock { state in
            state.phase = .open(store, rest)
            state.directory = directory
            state.ledger = StoreLedger(contents, in: directory)
            guard contents.head.starts >= Self.startLimit else { return }
            state.paused = Set(graph.systems.lazy.filter { $0.persistence == .state }.map(\.name))
            state.mayBeReady = false
        }
        report(contents, in: directory)
        return contents
    }

    private func load() throws(Problem) -> (String, any PartStore, StoreContents) {
        guard let place else { throw Problem(flaw: .init("this daemon has no directory for a store")) }
        let directory: String
        do throws(StorePlace.Flaw) { directory = try place.prepare() } catch { throw Problem(flaw: error) }
        do throws(StoreTrouble) {
            let store = try make(directory) { [self] in failed($0) }
            return (directory, store, try store.load())
        } catch {
            throw Problem(trouble: error, flaw: error.explained(in: directory))
        }
    }

    /// Opens the store for a running host whose next configuration is the first to need one. Returns the reason, in words,
    /// if that fails.
    package func openLate(for graph: Graph, isReady: Bool) async -> String? {
        do throws(Problem) {
            guard try await open(for: graph) != nil else { return nil }
        } catch {
            return "the store cannot be opened: \(error.flaw.reason); \(error.flaw.remedy)"
        }
        // The parts are in memory and run already, so nothing is restored, and nothing begins with a pause.
        state.withLock { ($0.paused, $0.mayBeReady) = ([], true) }
        guard await begin() else { return Self.refusal }
        if isReady { becomeReady() }
        return nil
    }

    // MARK: The life of the daemon

    /// The systems that begin with a pause, because several starts never became ready. Logs them.
    package func pausedSystems() -> Set<String> {
        let paused = state.withLock { $0.paused }
        if !paused.isEmpty {
            logger.error(
                """
                persisted systems begin paused, because \(Self.startLimit) starts or more in a row never became ready; look \
                for the reason in the log, then resume each with `mediatorctl resume SYSTEM`
                """,
                metadata: .about(.systemsBeginPaused, ["systems": "\(paused.sorted().joined(separator: ", "))"]))
        }
        return paused
    }

    /// Counts this start, and returns when that is on the disk or was refused. Returns `false` if the store has failed for good.
    package func begin() async -> Bool {
        let isOpen = state.withLock { state in
            guard case .open = state.phase else { return false }
            state.hasBegun = true
            return true
        }
        guard isOpen else { return !hasFailed }
        let (answers, answer) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingOldest(1))
        add(.milestone(.started)) { answer.yield(true) }
        // A store that fails for good does not answer.
        state.withLock { $0.beginning = answer }
        if hasFailed { answer.yield(false) }
        let limit = Task { [clock, logger] in
            guard (try? await clock.sleep(for: Self.beginLimit)) != nil else { return }
            logger.error(
                "the store does not answer; starting before it does; find out why its disk hangs",
                metadata: .about(.statesNotStored))
            answer.yield(true)
        }
        defer {
            limit.cancel()
            state.withLock { $0.beginning = nil }
        }
        for await goesOn in answers { return goesOn }
        return !hasFailed
    }

    /// A Boolean value that indicates whether the store has failed for good.
    package var hasFailed: Bool {
        if case .failed = state.withLock({ $0.phase }) { true } else { false }
    }

    /// Notes that the daemon is ready, unless systems have begun paused: then the next start is like this one.
    package func becomeReady() {
        guard state.withLock({ $0.mayBeReady }) else { return }
        add(.milestone(.ready)) {}
    }

    /// Notes that a stop begins. If all systems that began paused have been resumed, the next start is a usual one.
    func beginStop(_ host: Host) {
        let paused = state.withLock { $0.paused }
        guard paused.allSatisfy({ (try? host.systemStatus($0).pause) == nil }) else { return }
        state.withLock { $0.mayBeReady = true }
    }

    /// Commits the queued changes, and closes the store.
    ///
    /// - Parameter isInOrder: A Boolean value that indicates whether the daemon ends on request.
    package func close(isInOrder: Bool) async {
        // A start that is stopped before it is ready is none that fails.
        if isInOrder { becomeReady() }
        tryAgain()
        let (sends, sent) = AsyncStream<Void>.makeStream()
        let open = state.withLock { state -> (any PartStore, StoreContents, waits: Bool, isSending: Bool)? in
            guard case .open(let store, let contents) = state.phase else { return nil }
            state.phase = .closed
            if state.outbox.isSending { state.sent = sent }
            return (store, contents, state.outbox.isSending, state.outbox.beginSending())
        }
        guard let (store, contents, waits, isSending) = open else { return }
        // Another thread may still send the changes that were queued earlier.
        if waits { for await _ in sends {} }
        if isSending { send(to: store, contents) }
        let isClosed = try? await Blocking.call { store.close(within: Self.closeLimit) }
        let (refused, directory) = state.withLock { ($0.outbox.refused, $0.directory) }
        guard isClosed != true || refused > 0 else { return }
        logger.error(
            "the store could not be closed in order, so it may lack the last states; check its disk",
            metadata: .about(.statesNotStored, ["store": "\(directory)", "refused": "\(refused)"]))
    }

    private func failed(_ trouble: StoreTrouble) {
        let (directory, beginning) = state.withLock { state in
            state.phase = .failed
            return (state.directory, state.beginning)
        }
        beginning?.yield(false)
        let flaw = trouble.explained(in: directory)
        logger.critical(
            "ending, because the disk may not have the last states: \(flaw.reason); \(flaw.remedy)",
            metadata: .about(.storeFailed, ["store": "\(directory)"]))
        failure.yield(trouble)
        failure.finish()
    }

    // MARK: The journal

    package func write(_ change: HostChange, done: @escaping @Sendable (_ goesOn: Bool) -> Void) {
        add(.change(change)) { done(true) }
    }

    /// Queues a change. Without a store it is done at once; after a failure it never is.
    private func add(_ content: StoreOutbox.Content, _ done: @escaping @Sendable () -> Void) {
        let isDone = state.withLock { state in
            switch state.phase {
            case .unopened, .inMemory, .closed: return true
            case .failed: return false
            case .open:
                state.outbox.add(content, done)
                return false
            }
        }
        if isDone { done() } else { send() }
    }

    /// Tries again to store the refused changes.
    private func tryAgain() {
        state.withLock { $0.outbox.tryAgain() }
        send()
    }

    /// Sends the queued changes to the store, unless another thread does so already.
    private func send() {
        let open = state.withLock { state -> (any PartStore, StoreContents)? in
            guard case .open(let store, let contents) = state.phase, state.hasBegun, state.outbox.beginSending() else {
                return nil
            }
            return (store, contents)
        }
        if let (store, contents) = open { send(to: store, contents) }
    }

    /// Sends the queued changes to a store. Only one thread at a time calls this method.
    private func send(to store: any PartStore, _ contents: StoreContents) {
        while let entries = next() {
            for entry in entries {
                let settle: @Sendable (StoreOutcome) -> Void = { [self] in self.settle(entry, $0) }
                switch entry.content {
                case .milestone(let milestone): store.mark(milestone, done: settle)
                case .change(let change):
                    let epoch = contents.epoch(incarnation: change.incarnation)
                    store.put(
                        PartChange(
                            key: change.key, epoch: epoch,
                            phase: change.phase, encode: { [self] in encode(change, epoch) }), done: settle)
                }
            }
        }
    }

    /// Returns the entries to send next; `nil` if the queue is empty.
    private func next() -> [StoreOutbox.Entry]? {
        let (entries, sent) = state.withLock { state in
            let entries = state.outbox.next()
            defer { if entries == nil { state.sent = nil } }
            return (entries, entries == nil ? state.sent : nil)
        }
        sent?.finish()
        return entries
    }

    private func settle(_ entry: StoreOutbox.Entry, _ outcome: StoreOutcome) {
        let (consequences, directory) = settled(entry, outcome)
        entry.done()
        if consequences.isNews { announce() }
        if let trouble = consequences.trouble {
            let flaw = trouble.explained(in: directory)
            var metadata: Logger.Metadata = ["store": "\(directory)"]
            if case .change(let change) = entry.content { metadata["\(change.part)"] = "\(change.name)" }
            logger.error(
                "states are not stored, and would be lost with the process: \(flaw.reason); \(flaw.remedy)",
                metadata: .about(.statesNotStored, metadata))
        }
        if consequences.hasRecovered {
            logger.notice("all states are stored again", metadata: ["store": "\(directory)"])
        }
        if consequences.waits {
            Task { [self] in
                try? await clock.sleep(for: Self.retryPeriod)
                tryAgain()
            }
        }
    }
}
