import CCurl
import Glibc
import Synchronization
import Systemd

/// Makes HTTP requests with libcurl, all on one thread.
///
/// The thread starts with the first request. It ends some time after the last one, or with ``shutDown()``. Only the
/// thread uses libcurl's handles. Other threads leave a request or a number in ``State`` and wake it.
///
/// A request is not a ``CancellableWaiter``, because a cancelled task waits until the thread has closed the connection.
package final class HTTPClient: Sendable {
    /// The most concurrent requests to one server. Further requests wait, within their own time limit.
    static let requestLimit = 64
    /// The time for which the idle thread waits for another request. libcurl keeps the system's certificates for that
    /// time.
    static let idleLimit = Duration.seconds(60)

    /// The answer to a request or its error: a ``NetworkProblem``, or `CancellationError`.
    private typealias Outcome = Result<HTTPResponse, any Error>

    private struct State {
        var nextID: UInt64 = 1
        var hasThread = false
        /// The waker of the thread; `nil` while it starts, because it checks this state before it waits.
        var waker: ThreadWaker?
        var arrived: [Arrival] = []
        var cancelled: [UInt64] = []
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        var isEnding = false
        var enders: [CheckedContinuation<Void, Never>] = []
    }

    /// A request that the thread has not processed yet.
    fileprivate struct Arrival: Sendable {
        let id: UInt64
        let request: HTTPRequest
        let hasHeader: @Sendable () -> Void
    }

    /// The next step of the thread.
    private enum Work {
        case go(arrived: [Arrival], isEnding: Bool, cancelled: [UInt64])
        case leave(enders: [CheckedContinuation<Void, Never>])
    }

    private static let isReady = ccurl_start() == CURLE_OK
    private let state = Mutex(State())

    /// Creates a client without a thread.
    package init() {}

    /// Makes a request and returns the answer.
    ///
    /// - Parameter hasHeader: Called on the client's thread when the whole header has been read.
    /// - Throws: ``NetworkProblem``, or `CancellationError` as soon as the task is cancelled. The connection is then
    ///   closed.
    func perform(_ request: HTTPRequest, hasHeader: @escaping @Sendable () -> Void) async throws -> HTTPResponse {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { begin(Arrival(id: id, request: request, hasHeader: hasHeader), $0) }
        } onCancel: {
            cancel(id)
        }.get()
    }

    /// Ends all requests and the thread. A later request starts a new thread.
    package func shutDown() async {
        await withCheckedContinuation { continuation in
            let (waker, hasThread) = state.withLock { state in
                guard state.hasThread else { return (nil as ThreadWaker?, false) }
                state.isEnding = true
                state.cancelled = Array(state.waiters.keys)
                state.enders.append(continuation)
                return (state.waker, true)
            }
            waker?.wake()
            if !hasThread { continuation.resume() }
        }
    }

    private func begin(_ arrival: Arrival, _ continuation: CheckedContinuation<Outcome, Never>) {
        enum Step {
            case refuse
            case start
            case wake(ThreadWaker?)
        }
        let step: Step = state.withLock { state in
            // A later cancellation finds the request here.
            guard !Task.isCancelled, !state.isEnding else { return .refuse }
            state.waiters[arrival.id] = continuation
            state.arrived.append(arrival)
            guard !state.hasThread else { return .wake(state.waker) }
            state.hasThread = true
            return .start
        }
        switch step {
        case .refuse: continuation.resume(returning: .failure(CancellationError()))
        case .wake(let waker): waker?.wake()
        case .start:
            if !DetachedThread.start({ self.work() }) { giveUp(NetworkProblem("the system cannot create a thread")) }
        }
    }

    private func cancel(_ id: UInt64) {
        let waker = state.withLock { state in
            guard state.waiters[id] != nil else { return nil as ThreadWaker? }
            state.cancelled.append(id)
            return state.waker
        }
        waker?.wake()
    }

    // MARK: The thread

    private func work() {
        // A write to a connection that the server has closed must be an error of the request, not a signal.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard Self.isReady, let multi = curl_multi_init() else {
            return giveUp(NetworkProblem("libcurl cannot be used"))
        }
        guard let waker = ThreadWaker() else {
            curl_multi_cleanup(multi)
            return giveUp(NetworkProblem("too many files are open"))
        }
        _ = ccurl_set_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.requestLimit)
        state.withLock { $0.waker = waker }
        let enders = drive(multi, waker)
        curl_multi_cleanup(multi)
        for ender in enders { ender.resume() }
    }

    /// Processes requests until the client has been idle for long enough or is shut down.
    private func drive(_ multi: UnsafeMutableRawPointer, _ waker: ThreadWaker) -> [CheckedContinuation<Void, Never>] {
        var transfers = Transfers(multi)
        var (hasWaited, isEnding) = (false, false)
        while true {
            waker.clear()
            switch next(isIdle: transfers.isEmpty, mayLeave: hasWaited) {
            case .leave(let enders): return enders
            case .go(let arrived, let ends, let cancelled):
                isEnding = ends
                for arrival in arrived {
                    if let problem = transfers.add(arrival) { finish(arrival.id, .failure(problem)) }
                }
                for id in cancelled {
                    transfers.remove(id)
                    finish(id, .failure(CancellationError()))
                }
            }
            // Nothing would wake the thread.
            if isEnding, transfers.isEmpty { continue }
            for (id, result) in transfers.perform() { finish(id, result.mapError { $0 }) }
            hasWaited = transfers.wait(for: waker) && transfers.isEmpty
        }
    }

    /// Takes the new requests. If the client is idle, the thread ends in the same critical section, so that a later
    /// request starts another one.
    private func next(isIdle: Bool, mayLeave: Bool) -> Work {
        state.withLock { state in
            if isIdle, state.arrived.isEmpty, state.isEnding || mayLeave {
                defer { (state.hasThread, state.waker, state.isEnding) = (false, nil, false) }
                defer { (state.cancelled, state.enders) = ([], []) }
                return .leave(enders: state.enders)
            }
            defer { (state.arrived, state.cancelled) = ([], []) }
            return .go(arrived: state.arrived, isEnding: state.isEnding, cancelled: state.cancelled)
        }
    }

    private func finish(_ id: UInt64, _ outcome: Outcome) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: outcome)
    }

    /// Fails all requests, because the thread could not start.
    private func giveUp(_ problem: NetworkProblem) {
        let (waiters, enders) = state.withLock { state in
            defer {
                (state.hasThread, state.waker, state.isEnding) = (false, nil, false)
                (state.arrived, state.cancelled, state.waiters, state.enders) = ([], [], [:], [])
            }
            return (Array(state.waiters.values), state.enders)
        }
        for waiter in waiters { waiter.resume(returning: .failure(problem)) }
        for ender in enders { ender.resume() }
    }
}

/// The transfers of one thread, by their numbers and by libcurl's handles.
private struct Transfers {
    private let multi: UnsafeMutableRawPointer
    private var byID: [UInt64: HTTPTransfer] = [:]
    private var ids: [UnsafeMutableRawPointer: UInt64] = [:]

    init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

    var isEmpty: Bool { byID.isEmpty }

    /// Begins a transfer. Returns the reason if that is not possible.
    mutating func add(_ arrival: HTTPClient.Arrival) -> NetworkProblem? {
        guard let transfer = HTTPTransfer(arrival.request, hasHeader: arrival.hasHeader),
            curl_multi_add_handle(multi, transfer.handle) == CURLM_OK
        else {
            return NetworkProblem("libcurl refuses the request")
        }
        byID[arrival.id] = transfer
        ids[transfer.handle] = arrival.id
        return nil
    }

    /// Ends a transfer that is still running, and closes its connection.
    mutating func remove(_ id: UInt64) {
        guard let transfer = byID.removeValue(forKey: id) else { return }
        ids[transfer.handle] = nil
        curl_multi_remove_handle(multi, transfer.handle)
    }

    /// Performs the work that needs no waiting. Returns the transfers that have ended.
    mutating func perform() -> [(UInt64, Result<HTTPResponse, NetworkProblem>)] {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var ended: [(UInt64, Result<HTTPResponse, NetworkProblem>)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let id = ids[message.pointee.easy_handle],
                let transfer = byID[id]
            else { continue }
            ended.append((id, transfer.result(of: message.pointee.data.result)))
            remove(id)
        }
        return ended
    }

    /// Waits until a connection has an event or the waker wakes. Returns whether neither happened within the idle time.
    func wait(for waker: ThreadWaker) -> Bool {
        var extra = curl_waitfd(fd: waker.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        var count: Int32 = 0
        let limit = Int32(HTTPClient.idleLimit.components.seconds * 1_000)
        let code = curl_multi_poll(multi, &extra, 1, limit, &count)
        // Waiting failed for lack of memory. The thread tries again as soon as it may.
        if code != CURLM_OK { sched_yield() }
        return count == 0 && code == CURLM_OK
    }
}
