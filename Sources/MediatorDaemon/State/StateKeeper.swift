import Glibc
import Logging
import MediatorHost
import Systemd

/// Leaves the state of the host to the next daemon, with the service manager, and finds what the one before has left.
struct StateKeeper: Sendable {
    /// The limit on systems that the log names when they begin fresh.
    static let mostRefusals = 20

    private let descriptor: Int32?
    private let notifier: Notifier
    private let logger: Logger

    init(_ inheritance: Inheritance, notifier: Notifier, logger: Logger) {
        descriptor = inheritance.state
        self.notifier = notifier
        self.logger = logger
    }

    /// Returns the state of the previous daemon; an empty one without such a state, or where it is not readable.
    func inherited() -> HostState {
        guard let descriptor else { return HostState() }
        do {
            return try StateSnapshot.decode(try SealedFile.read(descriptor, limit: StateSnapshot.largest))
        } catch {
            logger.warning(
                "cannot use the state from before the restart; everything starts fresh",
                metadata: ["reason": "\(error)"])
            return HostState()
        }
    }

    /// Logs the outcome, apart from the parts that come from the store.
    func report(_ continuation: Continuation, without stored: StoredStates) {
        let refusals = continuation.refusals.filter { !stored.has($0) }
        for refusal in refusals.prefix(Self.mostRefusals) {
            logger.warning(
                "starts fresh: its state from before the restart does not fit",
                metadata: ["\(refusal.part)": "\(refusal.name)", "reason": "\(refusal.reason)"])
        }
        let more = refusals.count - Self.mostRefusals
        if more > 0 {
            logger.warning("further systems and buses start fresh", metadata: ["count": "\(more)"])
        }
        let (systems, buses) = stored.restored(continuation)
        let (others, otherBuses) = (continuation.systems - systems, continuation.buses - buses)
        guard others + otherBuses > 0 else { return }
        logger.notice(
            "restored the state from before the restart",
            metadata: ["systems": "\(others)", "buses": "\(otherBuses)"])
    }

    /// Releases the inherited state at the service manager. Called when everything has begun. After a later crash the
    /// daemon begins fresh, rather than from an old state.
    func forget() {
        guard let descriptor else { return }
        notifier.notify(.discard(Inheritance.stateName))
        close(descriptor)
    }

    /// Leaves the state of a host that has been stopped to the next daemon, if the service manager keeps anything.
    func keep(_ state: @autoclosure () -> HostState) {
        guard notifier.storeLimit > 0 else { return }
        let state = state()
        do {
            let (bytes, left) = try StateSnapshot.encode(state, at: Daemon.now())
            for name in left {
                logger.warning(
                    "cannot keep its state over a restart: it is nested too deep", metadata: ["name": "\(name)"])
            }
            let file = try SealedFile.make(bytes)
            defer { close(file) }
            if case .failed(let number) = notifier.store(file, as: Inheritance.stateName) {
                throw SealedFile.Failure(description: String(cString: strerror(number)))
            }
            logger.info(
                "saved the state for the next start",
                metadata: [
                    "systems": "\(state.systems.count)", "buses": "\(state.buses.count)", "bytes": "\(bytes.count)",
                ])
        } catch {
            logger.error("cannot save the state for the next start", metadata: ["reason": "\(error)"])
        }
    }
}
