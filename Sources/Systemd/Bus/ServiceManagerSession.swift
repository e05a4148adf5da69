import Glibc

/// One connection to the service manager with its requests. For one thread.
///
/// Any process may send signals on the bus. Only those of the owner of the service manager's name count.
final class ServiceManagerSession {
    private static let name = "org.freedesktop.systemd1"
    private static let manager = "/org/freedesktop/systemd1"
    private static let managerInterface = "org.freedesktop.systemd1.Manager"
    private static let unitInterface = "org.freedesktop.systemd1.Unit"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let driver = "org.freedesktop.DBus"

    /// The time limit for an answer, in microseconds.
    private static let answerLimit: UInt64 = 25_000_000
    /// The most messages that are processed before new commands.
    private static let burst = 64
    /// The most results of jobs that are kept until the answer names their job.
    private static let jobLimit = 1_000
    /// The most redirections from an alias to another object.
    private static let aliasLimit = 3
    /// The shortest pause between two queries of all units of a pattern, in microseconds. Without it, each change of
    /// each unit would cause a query.
    private static let listingPause: UInt64 = 200_000
    /// The most units of an answer that are read before sorting.
    private static let listingLimit = 100_000

    /// A watched unit.
    private struct Watch {
        let unit: String
        let continuation: AsyncThrowingStream<UnitState, any Error>.Continuation
        /// The object whose changes are reported.
        var path: String
        /// The state as far as it is known.
        var state: UnitState?
        /// The state that was sent last.
        var told: UnitState?
        var isAsking = false
        /// A Boolean value that indicates whether something happened that the pending answer may not show.
        var isStale = false
        /// A Boolean value that indicates whether something changed since the last query.
        var hasChanged = false
    }

    /// Units that are watched by a pattern.
    private struct Listing {
        let pattern: String
        let continuation: AsyncThrowingStream<[UnitState], any Error>.Continuation
        /// The list that was sent last.
        var told: [UnitState]?
        var isAsking = false
        /// A Boolean value that indicates whether something happened that the pending answer may not show.
        var isStale = false
        /// The time of the next permitted query.
        var askableAt: UInt64 = 0
    }

    /// A job that a task waits for.
    private struct Job {
        let unit: String
        /// The object of the job; `nil` until the answer names it.
        var path: String?
        let answer: @Sendable (Result<JobResult, ServiceManagerError>) -> Void
    }

    private struct Call {
        var deadline: UInt64
        var member: String
        var take: (BusMessage?, ServiceManagerError?) -> Void
    }

    private let connection: BusConnection
    private var calls: [UInt64: Call] = [:]
    private var watches: [Int: Watch] = [:]
    private var listings: [Int: Listing] = [:]
    private var jobs: [Int: Job] = [:]
    /// The results of jobs that no answer has named yet.
    private var ended: [String: String] = [:]
    /// The owner of the service manager's name; empty if nobody owns it.
    private var owner = ""
    private var failure: ServiceManagerError?
    private var idleSince: UInt64?
    private var hasLingered = false

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
    var isIdle: Bool { count == 0 && hasLingered }

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
    func turn(_ waker: ThreadWaker, linger: Duration) throws(ServiceManagerError) {
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
            hasLingered = false
        } else if idleSince == nil {
            idleSince = now
        }
        // Lists that may be queried again are queried now. The time of the others is known.
        for (id, listing) in listings where listing.isStale && !listing.isAsking { askListing(id) }
        if let failure { throw failure }
        var deadline = connection.deadline ?? .max
        for listing in listings.values where listing.isStale && !listing.isAsking {
            deadline = min(deadline, listing.askableAt)
        }
        for call in calls.values { deadline = min(deadline, call.deadline) }
        if let idleSince {
            let end = idleSince + UInt64(max(0, linger / .microseconds(1)))
            hasLingered = end <= now
            deadline = min(deadline, end)
        }
        var requests = [connection.descriptor, pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)]
        var wait: Int32 = -1
        if !isDone || hasLingered {
            wait = 0
        } else if deadline != .max {
            wait = deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000 + 1)
        }
        if poll(&requests, nfds_t(requests.count), wait) > 0, requests[1].revents != 0 { waker.clear() }
    }

    /// Microseconds of the monotonic clock.
    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(clamping: time.tv_sec) * 1_000_000 + UInt64(clamping: time.tv_nsec / 1_000)
    }

    // MARK: Calls

    private func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String,
        _ arguments: [BusConnection.Argument], _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        guard failure == nil else { return take(nil, failure) }
        do throws(ServiceManagerError) {
            let cookie = try connection.call(destination, path, interface, member, arguments)
            calls[cookie] = Call(deadline: Self.now() + Self.answerLimit, member: member, take: take)
        } catch {
            // No further call is possible. The next `turn` ends the session.
            failure = error
            take(nil, error)
        }
    }

    private func callManager(
        _ member: String, _ arguments: [BusConnection.Argument],
        _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        call(Self.name, Self.manager, Self.managerInterface, member, arguments, take)
    }

    private func callDriver(
        _ member: String, _ argument: String, _ take: @escaping (BusMessage?, ServiceManagerError?) -> Void
    ) {
        call(Self.driver, "/org/freedesktop/DBus", Self.driver, member, [.text(argument)], take)
    }

    private func addMatch(
        _ rule: String, _ refused: @escaping (ServiceManagerError) -> Void = { _ in }
    ) {
        callDriver("AddMatch", "type='signal'," + rule) { _, error in
            if let error { refused(error) }
        }
    }

    private func subscribe() {
        // An error means that the subscription exists.
        callManager("Subscribe", []) { _, _ in }
    }

    /// Processes an answer or a signal.
    private func take(_ message: BusMessage) {
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
        case "Reloading": if message.flag() == false { askAll() }
        default: break
        }
    }

    private static func text(_ error: (name: String, text: String)) -> String {
        switch error.name {
        case "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "org.freedesktop.DBus.Error.AccessDenied":
            return "\(error.text); the daemon's user needs permission, which a polkit rule can grant"
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            return "the message bus has no service manager: \(error.text)"
        default: return error.text.isEmpty ? error.name : error.text
        }
    }

    /// Processes a change of the owner. A service manager that has re-executed itself does not know this subscription.
    private func takeOwner(_ message: BusMessage) {
        guard message.text() == Self.name, message.text() != nil, let new = message.text() else { return }
        owner = new
        guard !new.isEmpty else { return }
        subscribe()
        askAll()
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

    // Listing

    /// The changes of all units.
    private static let ruleOfAll =
        "sender='\(name)',path_namespace='\(manager)/unit',interface='\(properties)',member='PropertiesChanged'"

    private func list(
        _ id: Int, _ pattern: String, _ continuation: AsyncThrowingStream<[UnitState], any Error>.Continuation
    ) {
        listings[id] = Listing(pattern: pattern, continuation: continuation)
        if listings.count == 1 {
            addMatch(Self.ruleOfAll) { [unowned self] error in
                for id in listings.keys { failListing(id, error) }
            }
        }
        askListing(id)
    }

    private func failListing(_ id: Int, _ error: ServiceManagerError) {
        guard let listing = listings.removeValue(forKey: id) else { return }
        if listings.isEmpty { removeRule(Self.ruleOfAll) }
        listing.continuation.finish(throwing: error)
    }

    /// Something has happened to a unit: asks for the lists in which it is. One question is under way at a time.
    private func askListings(of unit: String?) {
        guard let unit else { return }
        for (id, listing) in listings where fnmatch(listing.pattern, unit, FNM_NOESCAPE) == 0 { askListing(id) }
    }

    /// This loads nothing, so it is not told as a change itself.
    private func askListing(_ id: Int) {
        guard let listing = listings[id] else { return }
        guard !listing.isAsking, listing.askableAt <= Self.now() else {
            listings[id]?.isStale = true
            return
        }
        listings[id]?.isAsking = true
        listings[id]?.isStale = false
        callManager("ListUnitsByPatterns", [.texts([]), .texts([listing.pattern])]) { [unowned self] message, error in
            guard let listing = listings[id] else { return }
            guard let message else {
                return failListing(
                    id, error ?? ServiceManagerError(.refused, "the service manager did not answer"))
            }
            listings[id]?.isAsking = false
            listings[id]?.askableAt = Self.now() + Self.listingPause
            let all = message.units(limit: Self.listingLimit).map(\.state).sorted { $0.name < $1.name }
            let units = Array(all.prefix(ServiceManager.listLimit + 1))
            if units != listing.told {
                listings[id]?.told = units
                listing.continuation.yield(units)
            }
        }
    }

    // Jobs

    private func perform(
        _ id: Int, _ action: UnitAction, _ unit: String,
        _ answer: @escaping @Sendable (Result<JobResult, ServiceManagerError>) -> Void
    ) {
        jobs[id] = Job(unit: unit, answer: answer)
        callManager(action.method, [.text(unit), .text("replace")]) { [unowned self] message, error in
            guard jobs[id] != nil else { return }
            guard let path = message?.text("o") else {
                jobs[id] = nil
                answer(.failure(error ?? ServiceManagerError(.refused, "the service manager created no job")))
                return
            }
            jobs[id]?.path = path
            if let result = ended[path] { finish(id, result) }
        }
    }

    private func takeJob(_ message: BusMessage) {
        guard message.number() != nil, let path = message.text("o"), message.text() != nil,
            let result = message.text()
        else { return }
        let mine = jobs.filter { $0.value.path == path }.keys
        for id in mine { finish(id, result) }
        // It may be one whose path is about to be told.
        if !jobs.contains(where: { $0.value.path == nil }) {
            ended = [:]
        } else if ended.count < Self.jobLimit {
            ended[path] = result
        }
    }

    /// The job is over; the unit's state comes along.
    private func finish(_ id: Int, _ result: String) {
        guard let job = jobs[id] else { return }
        jobs[id]?.path = ""
        callManager("ListUnitsByNames", [.texts([job.unit])]) { [unowned self] message, _ in
            jobs[id] = nil
            let active = message?.units(limit: 1).first?.state.active ?? ""
            job.answer(.success(JobResult(result: result, active: active)))
        }
    }

    // Watching

    private func watch(
        _ id: Int, _ unit: String, _ continuation: AsyncThrowingStream<UnitState, any Error>.Continuation
    ) {
        let path = UnitName.objectPath(unit)
        watches[id] = Watch(unit: unit, continuation: continuation, path: path)
        listen(id, path)
        ask(id)
    }

    private static func rule(_ path: String) -> String {
        "sender='\(name)',path='\(path)',interface='\(properties)',member='PropertiesChanged'"
    }

    private func listen(_ id: Int, _ path: String) {
        watches[id]?.path = path
        addMatch(Self.rule(path)) { [unowned self] error in fail(id, error) }
    }

    private func removeMatch(_ path: String) { removeRule(Self.rule(path)) }

    private func removeRule(_ rule: String) {
        callDriver("RemoveMatch", "type='signal'," + rule) { _, _ in }
    }

    private func fail(_ id: Int, _ error: ServiceManagerError) {
        guard let watch = watches.removeValue(forKey: id) else { return }
        removeMatch(watch.path)
        watch.continuation.finish(throwing: error)
    }

    private func askAll() {
        for id in watches.keys { ask(id) }
        for id in listings.keys { askListing(id) }
    }

    /// Asks how a unit is; this loads it for a moment where it is not loaded.
    private func ask(_ id: Int, depth: Int = 0) {
        guard let watch = watches[id] else { return }
        guard depth > 0 || !watch.isAsking else {
            watches[id]?.isStale = true
            return
        }
        watches[id]?.isAsking = true
        watches[id]?.isStale = false
        watches[id]?.hasChanged = false
        callManager("ListUnitsByNames", [.texts([watch.unit])]) { [unowned self] message, error in
            guard let watch = watches[id] else { return }
            guard let message else {
                return fail(id, error ?? ServiceManagerError(.refused, "the service manager did not answer"))
            }
            guard let (state, path) = message.units(limit: 1).first else {
                return fail(id, ServiceManagerError(.refused, "'\(watch.unit)' cannot be a unit's name"))
            }
            if path != watch.path, depth < Self.aliasLimit {
                // An alias: changes are told of the object it stands for.
                removeMatch(watch.path)
                listen(id, path)
                return ask(id, depth: depth + 1)
            }
            watches[id]?.state = state
            askResult(id, state.name, path)
        }
    }

    private func askResult(_ id: Int, _ name: String, _ path: String) {
        guard let interface = UnitName.resultInterface(name) else { return answered(id) }
        call(Self.name, path, Self.properties, "Get", [.text(interface), .text("Result")]) {
            [unowned self] message, _ in
            // Where it has gone meanwhile, that will be told.
            if let message, message.enter("v", "s"), let result = message.text() {
                watches[id]?.state?.result = result
            }
            answered(id)
        }
    }

    private func answered(_ id: Int) {
        watches[id]?.isAsking = false
        tell(id)
        if watches[id]?.isStale == true { ask(id) }
    }

    /// Tells the state if it is another one than before.
    private func tell(_ id: Int) {
        guard let watch = watches[id], !watch.isAsking, let state = watch.state, state != watch.told else { return }
        watches[id]?.told = state
        watches[id]?.hasChanged = true
        watch.continuation.yield(state)
    }

    /// Properties of an object have changed: the type's own ones are told before those of all units.
    private func takeChange(_ message: BusMessage) {
        let path = message.path
        askListings(of: UnitName.name(ofObject: path))
        let ids = watches.filter { $0.value.path == path }.keys
        guard !ids.isEmpty, let interface = message.text() else { return }
        let texts = message.texts(["ActiveState", "SubState", "LoadState", "Result"])
        for id in ids {
            guard watches[id]?.state != nil else { continue }
            if interface == Self.unitInterface {
                if let active = texts["ActiveState"] { watches[id]?.state?.active = active }
                if let sub = texts["SubState"] { watches[id]?.state?.sub = sub }
                if let load = texts["LoadState"] { watches[id]?.state?.load = load }
                // That it has been found is not told by itself.
                if watches[id]?.state?.load == "not-found" { ask(id) } else { tell(id) }
            } else if let result = texts["Result"] {
                watches[id]?.state?.result = result
            }
        }
    }

    /// The service manager has loaded a unit, or forgotten one that nobody needs.
    ///
    /// To ask loads it for a moment, which is told too: so it is asked only if something can have changed.
    private func takeUnit(_ message: BusMessage, isNew: Bool) {
        guard let name = message.text(), let path = message.text("o") else { return }
        askListings(of: name)
        for (id, watch) in watches where watch.path == path || watch.unit == name {
            if isNew {
                callManager("GetUnit", [.text(watch.unit)]) { [unowned self] message, _ in
                    // Where it has been forgotten already, nothing has come of it.
                    if message != nil { ask(id) }
                }
            } else if watch.hasChanged {
                ask(id)
            }
        }
    }
}
