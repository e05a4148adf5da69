import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// Why a host asks for the end of the daemon.
public struct Escalation: Sendable, Hashable {
    /// The system on whose account.
    public let system: String
    /// What failed.
    public let reason: String
}

/// Does about the faults of systems what takes time, or concerns more than the system: ends and begins them anew, each
/// group as its strategy says.
///
/// A restart: successors are put in the places of all concerned, so that what is sent waits for them; what ran is
/// cancelled; when it has ended, or left behind, and the delay has passed, they begin in the order of the group. A bus
/// that remembers shows them its value, as at the start of the host.
final class Supervisor: Sendable {
    /// How long side effects that have been cancelled may take to end, before a system begins anew without.
    static let endLimit = Duration.seconds(10)

    private struct Machine {
        var current: @Sendable () -> HostedSet? = { nil }
        var nextID: UInt64 = 1
        var jobs: [UInt64: Job] = [:]
        var isStopped = false
    }

    /// A restart that is under way.
    private struct Job {
        let systems: [ObjectIdentifier]
        var task: Task<Void, Never>?
        /// What waits for its time.
        var wait: Task<Void, any Error>?
        /// Whether it need not wait for it.
        var isUrgent = false
    }

    /// Asks for the end of the daemon: the first is told.
    let escalations: AsyncStream<Escalation>
    private let escalated: AsyncStream<Escalation>.Continuation
    private let machine = Mutex(Machine())
    private let time: HostTime
    private let logger: Logger

    init(time: HostTime, logger: Logger) {
        self.time = time
        self.logger = logger
        (escalations, escalated) = AsyncStream<Escalation>.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// - Parameter current: what the host runs now.
    func connect(_ current: @escaping @Sendable () -> HostedSet?) {
        machine.withLock { $0.current = current }
    }

    /// Nothing is restarted any more.
    func stop() {
        let jobs = machine.withLock { machine in
            machine.isStopped = true
            return Array(machine.jobs.values)
        }
        for job in jobs {
            job.task?.cancel()
            job.wait?.cancel()
        }
        escalated.finish()
    }

    /// Does what is to be done about a fault, but for what the system has done itself. Returns at once.
    func supervise(_ claim: HostedSystem.Claim, _ decision: SupervisionMachine.Decision, at elapsed: Duration) {
        let system = claim.system
        let (group, others) = others(of: system)
        let name = system.definition.name
        switch decision {
        case .none: break
        case .reset:
            let cause = Cause(Cause.FaultOrigin("reset", of: name, on: system.faults.last), at: time.now())
            for other in others where other.reset(because: cause) {
                log(other, "reset with a system of its group", name, group)
            }
        case .restart(let delay, _):
            let cause = Cause(Cause.FaultOrigin("restart", of: name, on: system.faults.last), at: time.now())
            let concerned = others.compactMap { other -> HostedSystem.Claim? in
                guard let claim = other.claim("being restarted with '\(name)'", because: cause) else { return nil }
                log(other, "restarting with a system of its group", name, group)
                return claim
            }
            restart(ordered([claim] + concerned, group), at: elapsed + delay)
        case .stop:
            for other in others where other.giveUp("ended with '\(name)'") {
                log(other, "ended with a system of its group", name, group)
            }
        case .escalate:
            let reason = system.wellness.reason ?? "a fault"
            escalated.yield(Escalation(system: name, reason: reason))
        }
    }

    private func log(_ system: HostedSystem, _ message: Logger.Message, _ cause: String, _ group: GroupDefinition?) {
        logger.warning(
            message,
            metadata: .about(
                .groupTreated, because: Cause.id(ofFaultOf: cause),
                ["system": "\(system.definition.name)", "cause": "\(cause)", "group": "\(group?.name ?? "")"]))
    }

    /// The group of a system, and those of it whom what is done about the system concerns too.
    private func others(of system: HostedSystem) -> (GroupDefinition?, [HostedSystem]) {
        let current = machine.withLock { $0.current }
        guard let set = current(), let group = set.group(of: system) else { return (nil, []) }
        let members = group.systems.map { set.systems[$0] }
        switch group.strategy {
        case .one: return (group, [])
        case .all: return (group, members.filter { $0 !== system })
        case .rest: return (group, Array(members.drop { $0 !== system }.dropFirst()))
        }
    }

    /// In the order of their group.
    private func ordered(_ claims: [HostedSystem.Claim], _ group: GroupDefinition?) -> [HostedSystem.Claim] {
        guard let group, let set = machine.withLock({ $0.current })() else { return claims }
        let order = group.systems.map { ObjectIdentifier(set.systems[$0]) }
        func place(_ claim: HostedSystem.Claim) -> Int { order.firstIndex(of: ObjectIdentifier(claim.system)) ?? 0 }
        return claims.sorted { place($0) < place($1) }
    }

    /// Restarts systems that have been claimed for that, not before a time by the host's clock. Returns at once.
    @discardableResult
    func restart(_ claims: [HostedSystem.Claim], at due: Duration) -> Task<Void, Never> {
        let left = due - time.elapsed()
        if left > .zero, let begins = time.now().later(by: left) {
            for claim in claims { claim.system.willBegin(claim, at: begins) }
        }
        return machine.withLock { machine in
            let id = machine.nextID
            machine.nextID += 1
            // It cannot have ended before it is remembered, since that needs the lock.
            let task = Task.detached(priority: .management) { [self] in
                await carryOut(claims, due, id)
                let ended = self.machine.withLock { $0.jobs.removeValue(forKey: id) }
                withExtendedLifetime(ended) {}
            }
            machine.jobs[id] = Job(systems: claims.map { ObjectIdentifier($0.system) }, task: task)
            if machine.isStopped { task.cancel() }
            return task
        }
    }

    /// Has a system that waits for its time begin without waiting any longer, with those that begin with it.
    ///
    /// - Returns: what ends when it has begun; nil: it does not wait.
    func hurry(_ system: HostedSystem) -> Task<Void, Never>? {
        let job = machine.withLock { machine -> Job? in
            let id = ObjectIdentifier(system)
            // The last one: those before have lost their claim.
            guard let key = machine.jobs.filter({ $0.value.systems.contains(id) }).keys.max() else { return nil }
            machine.jobs[key]?.isUrgent = true
            return machine.jobs[key]
        }
        job?.wait?.cancel()
        return job?.task
    }

    private func carryOut(_ claims: [HostedSystem.Claim], _ due: Duration, _ id: UInt64) async {
        var successors: [HostedSystem.Claim?] = []
        var ending: [(system: HostedSystem, old: Incarnation)] = []
        for claim in claims {
            // One that could not be made has nothing that ends, and is tried again when its time has come.
            guard !claim.system.couldNotBeMade, let old = claim.system.exchange(claim) else {
                successors.append(nil)
                continue
            }
            ending.append((claim.system, old))
            successors.append(claim)
        }
        await withTaskGroup(of: Void.self) { group in
            for (system, old) in ending {
                group.addTask { [self] in
                    guard await !ends(old, within: Self.endLimit), !Task.isCancelled else {
                        return
                    }
                    logger.error(
                        "side effects did not end; leaving them behind",
                        metadata: .about(
                            .leftBehind, ["system": "\(system.definition.name)", "limit": "\(Self.endLimit)"]))
                }
            }
        }
        await wait(until: due, id)
        guard !Task.isCancelled else { return }
        for (index, claim) in claims.enumerated() where successors[index] == nil && claim.system.couldNotBeMade {
            if claim.system.exchange(claim) != nil { successors[index] = claim }
        }
        for case let claim? in successors {
            let links = links(into: claim.system)
            guard claim.system.beginAnew(claim, awaiting: Set(links.map(ObjectIdentifier.init))) else { continue }
            for link in links { link.showPresent(to: claim.system) }
        }
    }

    /// Waits until a time, unless somebody is in a hurry.
    private func wait(until due: Duration, _ id: UInt64) async {
        guard due > time.elapsed() else { return }
        let wait = machine.withLock { machine -> Task<Void, any Error>? in
            guard machine.jobs[id]?.isUrgent == false, !machine.isStopped else { return nil }
            let wait = Task.detached(priority: .management) { [time] in try await time.sleep(due) }
            machine.jobs[id]?.wait = wait
            return wait
        }
        _ = await wait?.result
    }

    /// The links from buses that remember to a system.
    private func links(into system: HostedSystem) -> [HostedLink] {
        let current = machine.withLock { $0.current }
        return current()?.links(into: system) ?? []
    }

    /// Whether an incarnation that has been cancelled ends within a limit.
    private func ends(_ old: Incarnation, within limit: Duration) async -> Bool {
        await time.race(within: limit) { done in [old.loop.whenStopped(done)] }
        return old.loop.phase == .stopped
    }
}

extension HostedSet {
    /// The group of a system, if it is in one.
    func group(of system: HostedSystem) -> GroupDefinition? {
        guard let index = systems.firstIndex(where: { $0 === system }) else { return nil }
        return memberships.groups[index].map { graph.groups[$0] }
    }

    /// The links from buses that remember to a system.
    func links(into system: HostedSystem) -> [HostedLink] {
        guard let index = systems.firstIndex(where: { $0 === system }) else { return [] }
        return zip(graph.links, links).compactMap { definition, link in
            guard definition.system == index, case .busToSystem(let bus, _, _) = definition.form,
                buses[bus].definition.kind == .currentValue
            else { return nil }
            return link
        }
    }
}

extension Host {
    /// Ends a system and begins it anew at once, in its initial state, also one that has ended on account of faults; one
    /// that waits to begin anew, with those that begin with it. What had been done about faults counts no longer. Others of
    /// its group go on.
    ///
    /// - Parameter client: on whose behalf; nil: on the program's own.
    /// - Returns: when it has begun. Its side effects have ended then, or have been left behind after some seconds.
    public func restart(_ name: String, by client: HostClient? = nil) async throws(HostError) {
        let system = try named(name)
        let cause = Cause(Cause.RequestOrigin(.restart, client), at: time.now())
        let claim = isStopped ? nil : system.claim("being restarted, as asked", because: cause, isByHand: true)
        guard let task = claim.map({ supervisor.restart([$0], at: .zero) }) ?? supervisor.hurry(system) else {
            throw Self.refusal(by: system)
        }
        system.forgetFaults()
        await task.value
        guard system.phase == .running else { throw Self.refusal(by: system, reason: system.wellness.reason) }
    }

    /// Sends a system to its initial state, before it takes another event; what waits for it, and its side effects that
    /// continue on a new state, stay as they are.
    ///
    /// - Parameter client: on whose behalf; nil: on the program's own.
    public func reset(_ name: String, by client: HostClient? = nil) throws(HostError) {
        let system = try named(name)
        let cause = Cause(Cause.RequestOrigin(.reset, client), at: time.now())
        guard !isStopped, system.reset(because: cause) else {
            throw Self.refusal(by: system)
        }
        system.forgetFaults()
    }

    /// That a system takes nothing, by what it is doing.
    ///
    /// - Parameter reason: why, in words; nil: what stands in the way.
    static func refusal(by system: HostedSystem, reason: String? = nil) -> HostError {
        let (kind, text) = obstacle(to: system)
        return .notAccepted(system: system.definition.name, obstacle: kind, reason: reason ?? text)
    }

    /// What keeps a system from taking anything, also in words.
    static func obstacle(to system: HostedSystem) -> (kind: HostError.Obstacle, text: String) {
        switch system.phase {
        case .built: (.notStarted, "it has not started yet: the daemon starts, or a reload is under way")
        case .running, .leaving: (.stopping, "it is stopping")
        case .restarting: (.restarting, "it is being restarted already")
        case .givenUp:
            (
                .ended,
                "it has ended on account of a fault; `mediatorctl restart \(system.definition.name)` begins it anew"
            )
        }
    }

    /// Asks for the end of the daemon, at most once; ends when the host stops.
    public var escalations: AsyncStream<Escalation> { supervisor.escalations }
}
