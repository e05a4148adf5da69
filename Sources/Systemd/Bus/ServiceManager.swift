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

    private struct Machine {
        var nextID = 1
        var queue: [Command] = []
        /// The waker of the connection's thread; `nil` if no thread runs.
        var waker: ThreadWaker?
        /// The number of requests on the thread.
        var underWay = 0
    }

    private let address: BusConnection.Address
    /// The time for which an idle connection stays open.
    private let linger: Duration
    private let machine = Mutex(Machine())

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
        let handover = Handover<JobResult>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                handover.wait(continuation)
                submit(.perform(id, action, unit) { result in handover.give(result.mapError { $0 }) })
            }
        } onCancel: {
            handover.give(.failure(CancellationError()))
            submit(.forget(id))
        }
    }

    private func nextID() -> Int {
        machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
    }

    /// Passes a command to the thread, which is started if necessary.
    private func submit(_ command: Command) {
        let failure: ServiceManagerError? = machine.withLock { machine in
            if case .forget = command {
                // Without a thread there is nothing to forget. The command is never refused, because it frees room.
                guard let waker = machine.waker else { return nil }
                machine.queue.append(command)
                waker.wake()
                return nil
            }
            guard machine.queue.count + machine.underWay < Self.limit else {
                return ServiceManagerError(
                    .busy, "the service manager has more than \(Self.limit) requests at once; try again later")
            }
            if let waker = machine.waker {
                machine.queue.append(command)
                waker.wake()
                return nil
            }
            guard let waker = ThreadWaker(), DetachedThread.start({ [self] in turn(waker) }) else {
                return ServiceManagerError(.busy, "the system cannot create a thread or descriptor; try again later")
            }
            machine.waker = waker
            machine.queue.append(command)
            return nil
        }
        if let failure { command.fail(failure) }
    }

    /// Runs on the thread: connects, and serves until the connection is lost or has been idle for long enough.
    private func turn(_ waker: ThreadWaker) {
        let session: ServiceManagerSession
        do throws(ServiceManagerError) {
            session = try ServiceManagerSession(address)
        } catch {
            return leave(error)
        }
        do throws(ServiceManagerError) {
            while let commands = next(session) {
                for command in commands { session.take(command) }
                try session.turn(waker, linger: linger)
            }
        } catch {
            // A new request then gets a new connection.
            leave(error)
            session.end(error)
        }
    }

    /// Returns the new commands; `nil` if the thread may end because the session is idle.
    private func next(_ session: ServiceManagerSession) -> [Command]? {
        machine.withLock { machine in
            machine.underWay = session.count
            if machine.queue.isEmpty, session.isIdle {
                machine.waker = nil
                return nil
            }
            defer { machine.queue = [] }
            return machine.queue
        }
    }

    /// Ends the thread because of an error. Waiting commands fail, and the next one starts a new thread.
    private func leave(_ error: ServiceManagerError) {
        let left = machine.withLock { machine in
            defer {
                machine.queue = []
                machine.waker = nil
                machine.underWay = 0
            }
            return machine.queue
        }
        for command in left { command.fail(error) }
    }
}

/// What the thread hands to one task, once.
private final class Handover<Success: Sendable>: Sendable {
    private struct Machine {
        var result: Result<Success, any Error>?
        var continuation: CheckedContinuation<Success, any Error>?
        var isOver = false
    }

    private let machine = Mutex(Machine())

    func wait(_ continuation: CheckedContinuation<Success, any Error>) {
        let result = machine.withLock { machine -> Result<Success, any Error>? in
            guard let result = machine.result else {
                machine.continuation = continuation
                return nil
            }
            machine.isOver = true
            return result
        }
        if let result { continuation.resume(with: result) }
    }

    /// Only the first result counts.
    func give(_ result: Result<Success, any Error>) {
        let continuation = machine.withLock { machine -> CheckedContinuation<Success, any Error>? in
            guard !machine.isOver, machine.result == nil else { return nil }
            guard let continuation = machine.continuation else {
                machine.result = result
                return nil
            }
            machine.isOver = true
            machine.continuation = nil
            return continuation
        }
        continuation?.resume(with: result)
    }
}
