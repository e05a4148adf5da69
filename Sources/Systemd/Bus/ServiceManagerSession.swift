import Glibc

/// One connection to the service manager with its requests. For one thread.
///
/// Any process may send signals on the bus. Only those of the owner of the service manager's name count.
final class ServiceManagerSession {
    static let name = "org.freedesktop.systemd1"
    static let manager = "/org/freedesktop/systemd1"
    static let managerInterface = "org.freedesktop.systemd1.Manager"
    static let unitInterface = "org.freedesktop.systemd1.Unit"
    static let properties = "org.freedesktop.DBus.Properties"
    static let driver = "org.freedesktop.DBus"

    /// The time limit for an answer, in microseconds.
    static let answerLimit: UInt64 = 25_000_000
    /// The most messages that are processed before new commands.
    static let burst = 64
    /// The most results of jobs that are kept until the answer names their job.
    static let jobLimit = 1_000
    /// The most redirections from an alias to another object.
    static let aliasLimit = 3
    /// The shortest pause between two queries of all units of a pattern, in microseconds. Without it, each change of
    /// each unit would cause a query.
    static let listingPause: UInt64 = 200_000
    /// The most units of an answer that are read before sorting.
    static let listingLimit = 100_000

    /// A watched unit.
    struct Watch {
        let unit: String
        let continuation: AsyncThrowingStream<UnitState, any Error>.Continuation
        /// The object whose changes are reported.
        var path: String
        /// The state as far as it is known.
        var state: UnitState?
        /// The state that was sent last.
        var lastSent: UnitState?
        var isQuerying = false
        /// A Boolean value that indicates whether something happened that the pending answer may not show.
        var isStale = false
        /// A Boolean value that indicates whether something changed since the last query.
        var hasChanged = false
    }

    /// Units that are watched by a pattern.
    struct Listing {
        let pattern: String
        let continuation: AsyncThrowingStream<[UnitState], any Error>.Continuation
        /// The list that was sent last.
        var lastSent: [UnitState]?
        var isQuerying = false
        /// A Boolean value that indicates whether something happened that the pending answer may not show.
        var isStale = false
        /// The time of the next permitted query.
        var nextQuery: UInt64 = 0
    }

    /// A job that a task waits for.
    struct Job {
        let unit: String
        /// The object of the job; `nil` until the answer names it.
        var path: String?
        let answer: @Sendable (Result<JobResult, ServiceManagerError>) -> Void
    }

    struct Call {
        var deadline: UInt64
        var member: String
        var take: (BusMessage?, ServiceManagerError?) -> Void
    }

    let connection: BusConnection
    var calls: [UInt64: Call] = [:]
    var watches: [Int: Watch] = [:]
    var listings: [Int: Listing] = [:]
    var jobs: [Int: Job] = [:]
    /// The results of jobs that no answer has named yet.
    var unclaimedResults: [String: String] = [:]
    /// The owner of the service manager's name; empty if nobody owns it.
    var owner = ""
    var failure: ServiceManagerError?
    var idleSince: UInt64?
    var hasBeenIdle = false

    /// Connects and subscribes to changes.
    init(_ address: BusConnection.Address) throws(ServiceManagerError) {
        connection = try BusConnection(address)
        addMatch("sender='\(Self.driver)',interface='\(Self.driver)',member='NameOwnerChanged',arg0='\(Self.name)'")
        for member in ["UnitNew", "UnitRemoved", "JobRemoved", "Reloading"] {
            addMatch(
                "sender='\(Self.name)',path='\(Self.manager)',interface='\(Self.managerInterface)',member='\(member)'")
        }
        callDriver("GetNameOwner", Self.name) { [unowned self] answer, _ in
            // If the name got an owner in the meantime, its signal has been processed.
            if let owner = answer?.text(), self.owner.isEmpty { self.owner = owner }
        }
        subscribe()
    }

    /// The number of requests.
    var count: Int { watches.count + listings.count + jobs.count }

    /// A Boolean value that indicates whether the session has been idle for the linger time.
    var isIdle: Bool { count == 0 && hasBeenIdle }

    /// Ends all requests with an error.
    func end(_ reason: ServiceManagerError) {
        let (watches, listings, jobs, calls) = (self.watches, self.listings, self.jobs, self.calls)
        self.watches = [:]
        self.listings = [:]
        self.jobs = [:]
        self.calls = [:]
        for watch in watches.values { watch.continuation.finish(throwing: reason) }
        for listing in listings.values { listing.continuation.finish(throwing: reason) }
        for job in jobs.values { job.answer(.failure(reason)) }
        for call in calls.values { call.take(nil, reason) }
    }

    // MARK: Event loop

    /// Processes received messages, then waits for more, for a time limit, or for the waker.
    func processEvents(_ waker: ThreadWaker, linger: Duration) throws(ServiceManagerError) {
        var isDone = false
        for _ in 0..<Self.burst where !isDone {
            if let failure { throw failure }
            do throws(ServiceManagerError) {
                if let step = try connection.process() {
                    if let message = step { take(message) }
                } else {
                    isDone = true
                }
            } catch {
                failure = error
                throw error
            }
        }
        let now = Self.now()
        for (cookie, call) in calls where call.deadline <= now {
            calls[cookie] = nil
            call.take(
                nil, ServiceManagerError(.unreachable, "the service manager did not answer \(call.member) in 25 s"))
        }
        if count > 0 {
            idleSince = nil
            hasBeenIdle = false
        } else if idleSince == nil {
            idleSince = now
        }
        // Lists that may be queried again are queried now. The time of the others is known.
        for (id, listing) in listings where listing.isStale && !listing.isQuerying { queryList(id) }
        if let failure { throw failure }
        var deadline = connection.deadline ?? .max
        for listing in listings.values where listing.isStale && !listing.isQuerying {
            deadline = min(deadline, listing.nextQuery)
        }
        for call in calls.values { deadline = min(deadline, call.deadline) }
        if let idleSince {
            let end = idleSince + UInt64(max(0, linger / .microseconds(1)))
            hasBeenIdle = end <= now
            deadline = min(deadline, end)
        }
        var requests = [connection.descriptor, pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)]
        var wait: Int32 = -1
        if !isDone || hasBeenIdle {
            wait = 0
        } else if deadline != .max {
            wait = deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000 + 1)
        }
        if poll(&requests, nfds_t(requests.count), wait) > 0, requests[1].revents != 0 { waker.clear() }
    }

    /// Microseconds of the monotonic clock.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(clamping: time.tv_sec) * 1_000_000 + UInt64(clamping: time.tv_nsec / 1_000)
    }

    // MARK: Calls

    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String,
        _ arguments: [BusConnection.Argument], _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        guard failure == nil else { return take(nil, failure) }
        do throws(ServiceManagerError) {
            let cookie = try connection.call(destination, path, interface, member, arguments)
            calls[cookie] = Call(deadline: Self.now() + Self.answerLimit, member: member, take: take)
        } catch {
            // No further call is possible. The next `processEvents` ends the session.
            failure = error
            take(nil, error)
        }
    }

    func callManager(
        _ member: String, _ arguments: [BusConnection.Argument],
        _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        call(Self.name, Self.manager, Self.managerInterface, member, arguments, take)
    }

    func callDriver(
        _ member: String, _ argument: String, _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        call(Self.driver, "/org/freedesktop/DBus", Self.driver, member, [.text(argument)], take)
    }

    func addMatch(
        _ rule: String, _ refused: @escaping (ServiceManagerError) -> Void = { _ in }
    ) {
        callDriver("AddMatch", "type='signal'," + rule) { _, error in
            if let error { refused(error) }
        }
    }

    func subscribe() {
        // An error means that the subscription exists.
        callManager("Subscribe", []) { _, _ in }
    }

    /// Processes an answer or a signal.
    func take(_ message: BusMessage) {
        if let cookie = message.answeredCall {
            guard let call = calls.removeValue(forKey: cookie) else { return }
            if let error = message.error {
                call.take(nil, ServiceManagerError(.refused, Self.text(error)))
            } else {
                call.take(message, nil)
            }
            return
        }
        if message.sender == Self.driver {
            if message.isSignal(Self.driver, "NameOwnerChanged") { takeOwner(message) }
            return
        }
        guard !owner.isEmpty, message.sender == owner else { return }
        if message.isSignal(Self.properties, "PropertiesChanged") { return takeChange(message) }
        guard message.path == Self.manager, message.interface == Self.managerInterface else { return }
        switch message.member {
        case "UnitNew": takeUnit(message, isNew: true)
        case "UnitRemoved": takeUnit(message, isNew: false)
        case "JobRemoved": takeJob(message)
        // `false` means that the reload has ended.
        case "Reloading": if message.flag() == false { queryAll() }
        default: break
        }
    }

    static func text(_ error: (name: String, text: String)) -> String {
        switch error.name {
        case "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "org.freedesktop.DBus.Error.AccessDenied":
            return "\(error.text); the daemon's user needs permission, which a polkit rule can grant"
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            return "the message bus has no service manager: \(error.text)"
        default: return error.text.isEmpty ? error.name : error.text
        }
    }

    /// Processes a change of the owner. A service manager that has re-executed itself does not know this subscription.
    func takeOwner(_ message: BusMessage) {
        guard message.text() == Self.name, message.text() != nil, let new = message.text() else { return }
        owner = new
        guard !new.isEmpty else { return }
        subscribe()
        queryAll()
    }

    // MARK: Commands

    /// Performs a command.
    func take(_ command: ServiceManager.Command) {
        switch command {
        case .watch(let id, let unit, let continuation): watch(id, unit, continuation)
        case .list(let id, let pattern, let continuation): list(id, pattern, continuation)
        case .perform(let id, let action, let unit, let answer): perform(id, action, unit, answer)
        case .forget(let id):
            if let watch = watches.removeValue(forKey: id) { removeMatch(watch.path) }
            if listings.removeValue(forKey: id) != nil, listings.isEmpty { removeRule(Self.ruleOfAll) }
            jobs[id] = nil
        }
    }
}
