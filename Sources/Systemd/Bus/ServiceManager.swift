import Synchronization

/// The service manager over D-Bus (org.freedesktop.systemd1(5)): the states of units, and actions on them.
///
/// The first request opens a connection on a separate thread, which all requests share. It closes when it has been idle
/// for a while. If the connection is lost, all requests end with an error, and the next request opens a new one.
public final class ServiceManager: Sendable {
    /// The service manager to use.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// The service manager of the system.
        case system
        /// The service manager of the user of this process.
        case user
    }

    /// The most requests at a time.
    public static let limit = 10_000
    /// The states of a unit that may wait for a slow reader. Beyond that, the oldest are dropped.
    public static let stateLimit = 256

    /// The service manager of the system.
    public static let system = ServiceManager(BusConnection.Address.system)
    /// The service manager of the user of this process.
    public static let user = ServiceManager(BusConnection.Address.user)

    /// A command for the thread of the connection.
    enum Command: Sendable {
        case watch(Int, String, AsyncThrowingStream<UnitState, any Error>.Continuation)
        case list(Int, String, AsyncThrowingStream<[UnitState], any Error>.Continuation)
        case perform(Int, UnitAction, String, @Sendable (Result<JobResult, ServiceManagerError>) -> Void)
        case forget(Int)

        /// Ends the request with an error.
        func fail(_ error: ServiceManagerError) {
            switch self {
            case .watch(_, _, let continuation): continuation.finish(throwing: error)
            case .list(_, _, let continuation): continuation.finish(throwing: error)
            case .perform(_, _, _, let answer): answer(.failure(error))
            case .forget: break
            }
        }
    }

    private struct State {
        var nextID = 1
        var queue: [Command] = []
        /// The waker of the connection's thread; `nil` if no thread runs.
        var waker: ThreadWaker?
        /// The number of requests on the thread.
        var pending = 0
    }

    private let address: BusConnection.Address
    /// The time for which an idle connection stays open.
    private let linger: Duration
    private let state = Mutex(State())

    init(_ address: BusConnection.Address, linger: Duration = .seconds(10)) {
        self.address = address
        self.linger = linger
    }

    /// Creates a service manager on a given bus, for tests.
    ///
    /// - Parameters:
    ///   - address: An address of the D-Bus specification, such as `unix:path=/run/bus`.
    ///   - linger: The time for which an idle connection stays open.
    public convenience init(address: String, linger: Duration = .seconds(10)) {
        self.init(.at(address), linger: linger)
    }

    /// Returns the service manager of a scope.
    public static func of(_ scope: Scope) -> ServiceManager { scope == .system ? system : user }

    /// Returns the state of a unit now and after each change. The unit need not exist.
    ///
    /// The stream ends only with a ``ServiceManagerError``, or when its reader is cancelled or drops it.
    public func states(of unit: String) -> AsyncThrowingStream<UnitState, any Error> {
        let (stream, continuation) = AsyncThrowingStream<UnitState, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.stateLimit))
        let id = nextID()
        continuation.onTermination = { [weak self] _ in self?.submit(.forget(id)) }
        submit(.watch(id, unit, continuation))
        return stream
    }

    /// Returns the states of the loaded units whose names match a pattern (glob(7)), sorted by name: now and after each
    /// change.
    ///
    /// If several changes come at once, only the last list is delivered. A list has at most ``listLimit`` units, and
    /// one more to show that it is incomplete. The states have no results. The stream ends like that of
    /// ``states(of:)``.
    public func units(matching pattern: String) -> AsyncThrowingStream<[UnitState], any Error> {
        let (stream, continuation) = AsyncThrowingStream<[UnitState], any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let id = nextID()
        continuation.onTermination = { [weak self] _ in self?.submit(.forget(id)) }
        submit(.list(id, pattern, continuation))
        return stream
    }

    /// The most units of a pattern.
    public static let listLimit = 1_000

    /// Performs an action on a unit and waits until its job has ended.
    ///
    /// Throws ``ServiceManagerError`` if no job is created or its outcome is unknown, and `CancellationError` as soon
    /// as the task is cancelled. The job then continues.
    public func perform(_ action: UnitAction, on unit: String) async throws -> JobResult {
        let id = nextID()
        let waiter = CancellableWaiter<JobResult>()
        submit(.perform(id, action, unit) { result in waiter.resume(with: result.mapError { $0 }) })
        do {
            return try await waiter.value()
        } catch let error as CancellationError {
            submit(.forget(id))
            throw error
        }
    }

    private func nextID() -> Int {
        state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
    }

    /// Passes a command to the thread, which is started if necessary.
    private func submit(_ command: Command) {
        let failure: ServiceManagerError? = state.withLock { state in
            if case .forget = command {
                // Without a thread there is nothing to forget. The command is never refused, because it frees room.
                guard let waker = state.waker else { return nil }
                state.queue.append(command)
                waker.wake()
                return nil
            }
            guard state.queue.count + state.pending < Self.limit else {
                return ServiceManagerError(
                    .busy, "the service manager has more than \(Self.limit) requests at once; try again later")
            }
            if let waker = state.waker {
                state.queue.append(command)
                waker.wake()
                return nil
            }
            guard let waker = ThreadWaker(), DetachedThread.start({ [self] in run(waker) }) else {
                return ServiceManagerError(.busy, "the system cannot create a thread or descriptor; try again later")
            }
            state.waker = waker
            state.queue.append(command)
            return nil
        }
        if let failure { command.fail(failure) }
    }

    /// Runs on the thread: connects, and serves until the connection is lost or has been idle for long enough.
    private func run(_ waker: ThreadWaker) {
        let session: ServiceManagerSession
        do throws(ServiceManagerError) {
            session = try ServiceManagerSession(address)
        } catch {
            return leave(error)
        }
        do throws(ServiceManagerError) {
            while let commands = next(session) {
                for command in commands { session.take(command) }
                try session.processEvents(waker, linger: linger)
            }
        } catch {
            // `leave` comes first, so that a task that asks again gets a new connection.
            leave(error)
            session.end(error)
        }
    }

    /// Returns the new commands; `nil` if the thread may end because the session is idle.
    private func next(_ session: ServiceManagerSession) -> [Command]? {
        state.withLock { state in
            state.pending = session.count
            if state.queue.isEmpty, session.isIdle {
                state.waker = nil
                return nil
            }
            defer { state.queue = [] }
            return state.queue
        }
    }

    /// Ends the thread because of an error. Waiting commands fail, and the next one starts a new thread.
    private func leave(_ error: ServiceManagerError) {
        let left = state.withLock { state in
            defer {
                state.queue = []
                state.waker = nil
                state.pending = 0
            }
            return state.queue
        }
        for command in left { command.fail(error) }
    }
}
