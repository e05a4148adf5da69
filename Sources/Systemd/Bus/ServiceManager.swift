import Synchronization

/// The service manager over D-Bus (org.freedesktop.systemd1(5)): how units are, and what is to become of them.
///
/// A connection is made when something is asked, on a thread of its own, which everything that is asked shares, and closed
/// when nothing has been under way for a while. When it is lost, everything under way ends with an error; who wants to go on
/// asks again, and gets a new one.
public final class ServiceManager: Sendable {
    /// Which service manager.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// That of the system.
        case system
        /// That of the user whose process this is.
        case user
    }

    /// How much may be asked for at once, together with what is under way.
    public static let limit = 10_000
    /// How many states of a unit wait at most for who is slow; beyond that the oldest are dropped.
    public static let stateLimit = 256

    /// The service manager of the system.
    public static let system = ServiceManager(BusConnection.Address.system)
    /// The service manager of the user whose process this is.
    public static let user = ServiceManager(BusConnection.Address.user)

    /// What is to be done on the connection's thread.
    enum Command: Sendable {
        case watch(Int, String, AsyncThrowingStream<UnitState, any Error>.Continuation)
        case list(Int, String, AsyncThrowingStream<[UnitState], any Error>.Continuation)
        case perform(Int, UnitAction, String, @Sendable (Result<JobResult, ServiceManagerError>) -> Void)
        case forget(Int)

        /// Tells whoever asked that nothing will come of it.
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
        /// Of the connection's thread; `nil`: there is none.
        var waker: ThreadWaker?
        /// How much is under way on the thread.
        var underWay = 0
    }

    private let address: BusConnection.Address
    /// How long a connection stays when nothing is under way.
    private let linger: Duration
    private let machine = Mutex(Machine())

    init(_ address: BusConnection.Address, linger: Duration = .seconds(10)) {
        self.address = address
        self.linger = linger
    }

    /// One on a bus of its own, as tests have them.
    ///
    /// - Parameters:
    ///   - address: an address of the D-Bus specification, such as `unix:path=/run/bus`.
    ///   - linger: how long a connection stays when nothing is under way.
    public convenience init(address: String, linger: Duration = .seconds(10)) {
        self.init(.at(address), linger: linger)
    }

    /// That of a scope.
    public static func of(_ scope: Scope) -> ServiceManager { scope == .system ? system : user }

    /// How a unit is: at once, and then each time that changes. It need not exist.
    ///
    /// The stream ends only by an error, ``ServiceManagerError``, or when its reader is cancelled, or lets go of it.
    public func states(of unit: String) -> AsyncThrowingStream<UnitState, any Error> {
        let (stream, continuation) = AsyncThrowingStream<UnitState, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.stateLimit))
        let id = nextID()
        continuation.onTermination = { [weak self] _ in self?.submit(.forget(id)) }
        submit(.watch(id, unit, continuation))
        return stream
    }

    /// How the units are that are loaded and whose names match a pattern (glob(7)), sorted by name: at once, and then each time
    /// that changes; where several changes come at once, the last one counts. At most ``listLimit``, and one more where there
    /// are more. Their results are not told.
    ///
    /// The stream ends as that of ``states(of:)`` does.
    public func units(matching pattern: String) -> AsyncThrowingStream<[UnitState], any Error> {
        let (stream, continuation) = AsyncThrowingStream<[UnitState], any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let id = nextID()
        continuation.onTermination = { [weak self] _ in self?.submit(.forget(id)) }
        submit(.list(id, pattern, continuation))
        return stream
    }

    /// How many units that match a pattern are told.
    public static let listLimit = 1_000

    /// Has the service manager do something with a unit, and waits until its job has ended.
    ///
    /// Throws ``ServiceManagerError`` if there is no job, or if it is not known how it ended; `CancellationError` as soon as
    /// the task is cancelled. The job goes on then.
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

    /// Gives something to the thread, which is begun where there is none.
    private func submit(_ command: Command) {
        let failure: ServiceManagerError? = machine.withLock { machine in
            if case .forget = command {
                // Without a thread there is nothing to forget. It is never refused: it makes room.
                guard let waker = machine.waker else { return nil }
                machine.queue.append(command)
                waker.wake()
                return nil
            }
            guard machine.queue.count + machine.underWay < Self.limit else {
                return ServiceManagerError(
                    .busy, "the service manager is asked for more than \(Self.limit) things at once")
            }
            if let waker = machine.waker {
                machine.queue.append(command)
                waker.wake()
                return nil
            }
            guard let waker = ThreadWaker(), DetachedThread.start({ [self] in turn(waker) }) else {
                return ServiceManagerError(.busy, "the system has no thread or descriptor to give")
            }
            machine.waker = waker
            machine.queue.append(command)
            return nil
        }
        if let failure { command.fail(failure) }
    }

    /// What the thread does: it connects, and serves until the connection is lost or nobody wants anything.
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
            // First, so that who asks again gets a new connection.
            leave(error)
            session.end(error)
        }
    }

    /// What has been asked meanwhile; `nil`: the thread may end, since nothing is under way.
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

    /// The thread ends because of an error: what waits fails, and what comes next begins anew.
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
