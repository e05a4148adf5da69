import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A request of a host to end the daemon, because of a fault.
public struct Escalation: Sendable, Hashable {
    /// The name of the system with the fault.
    public let system: String
    /// The description of the failure.
    public let reason: String
}

/// Carries out supervision decisions that take time or concern several systems. It treats each group by its strategy.
///
/// A restart has these steps:
///
/// 1. Successors replace the present incarnations of all affected systems. Later events wait for the successors.
/// 2. The old incarnations are cancelled. After ``endLimit``, they are left behind if they have not ended.
/// 3. After the delay, the successors start in the order of the group. Current-value buses show them their values, as at
///    the start of the host.
final class Supervisor: Sendable {
    /// The time limit for cancelled side effects to end, before a restart leaves them behind.
    static let endLimit = Duration.seconds(10)

    private struct Machine {
        var current: @Sendable () -> HostedSet? = { nil }
        var nextID: UInt64 = 1
        var jobs: [UInt64: Job] = [:]
        var isStopped = false
    }

    /// A restart in progress.
    private struct Job {
        let systems: [ObjectIdentifier]
        var task: Task<Void, Never>?
        /// The function that ends the wait for the time of the restart.
        var goOn: (@Sendable () -> Void)?
        /// A Boolean value that indicates whether the restart need not wait for its time.
        var isUrgent = false
    }

    /// The requests to end the daemon. Only the first unread one is kept.
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

    /// Sets the source of the present systems.
    ///
    /// - Parameter current: The function that returns the systems that the host runs now.
    func connect(_ current: @escaping @Sendable () -> HostedSet?) {
        machine.withLock { $0.current = current }
    }

    /// Cancels all restarts and prevents further ones.
    func stop() {
        let jobs = machine.withLock { machine in
            machine.isStopped = true
            // In their order, so that one seed gives one simulation.
            return machine.jobs.sorted { $0.key < $1.key }.map(\.value)
        }
        for job in jobs {
            job.task?.cancel()
            job.goOn?()
        }
        escalated.finish()
    }

    /// Carries out the rest of a decision, beyond the part that the system has carried out itself. Returns at once.
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

    /// Returns the group of a system, and the other members that share the treatment.
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

    /// Returns the claims in the order of their group.
    private func ordered(_ claims: [HostedSystem.Claim], _ group: GroupDefinition?) -> [HostedSystem.Claim] {
        guard let group, let set = machine.withLock({ $0.current })() else { return claims }
        let order = group.systems.map { ObjectIdentifier(set.systems[$0]) }
        func place(_ claim: HostedSystem.Claim) -> Int { order.firstIndex(of: ObjectIdentifier(claim.system)) ?? 0 }
        return claims.sorted { place($0) < place($1) }
    }

    /// Restarts claimed systems, at a time of the host's clock or later. Returns at once.
    @discardableResult
    func restart(_ claims: [HostedSystem.Claim], at due: Duration) -> Task<Void, Never> {
        if due > time.elapsed() { for claim in claims { claim.system.willBegin(claim, at: due) } }
        return machine.withLock { machine in
            let id = machine.nextID
            machine.nextID += 1
            // The task cannot end before it is stored, because its end needs the lock.
            let task = Task.detached(executorPreference: time.taskExecutor, priority: .management) { [self] in
                await carryOut(claims, due, id)
                let ended = self.machine.withLock { $0.jobs.removeValue(forKey: id) }
                withExtendedLifetime(ended) {}
            }
            machine.jobs[id] = Job(systems: claims.map { ObjectIdentifier($0.system) }, task: task)
            if machine.isStopped { task.cancel() }
            return task
        }
    }

    /// Starts a system that waits for its restart without further delay, with the systems that restart with it.
    ///
    /// - Returns: The task that ends when the system has started, or `nil` without a pending restart.
    func hurry(_ system: HostedSystem) -> Task<Void, Never>? {
        let job = machine.withLock { machine -> Job? in
            let id = ObjectIdentifier(system)
            // The last job. The earlier ones have lost their claims.
            guard let key = machine.jobs.filter({ $0.value.systems.contains(id) }).keys.max() else { return nil }
            machine.jobs[key]?.isUrgent = true
            return machine.jobs[key]
        }
        job?.goOn?()
        return job?.task
    }

    private func carryOut(_ claims: [HostedSystem.Claim], _ due: Duration, _ id: UInt64) async {
        var successors: [HostedSystem.Claim?] = []
        var ending: [(system: HostedSystem, old: Incarnation)] = []
        for claim in claims {
            // After a failed restart, no incarnation has to end. The next attempt comes after the delay.
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
            let inputs = machine.withLock { $0.current }()?.presentInputs(of: claim.system) ?? []
            guard claim.system.beginAnew(claim, inputs.map(\.event), awaiting: Set(links.map(ObjectIdentifier.init)))
            else {
                continue
            }
            for link in links { link.showPresent(to: claim.system, unless: inputs) }
        }
    }

    /// Waits until a time, unless the restart is urgent.
    private func wait(until due: Duration, _ id: UInt64) async {
        guard due > time.elapsed() else { return }
        await time.race(until: due) { done in
            let waits = machine.withLock { machine in
                guard machine.jobs[id]?.isUrgent == false, !machine.isStopped else { return false }
                machine.jobs[id]?.goOn = done
                return true
            }
            if !waits { done() }
            return []
        }
    }

    /// Returns the links from current-value buses to a system.
    private func links(into system: HostedSystem) -> [HostedLink] {
        let current = machine.withLock { $0.current }
        return current()?.links(into: system) ?? []
    }

    /// Returns a Boolean value that indicates whether a cancelled incarnation ends within a limit.
    private func ends(_ old: Incarnation, within limit: Duration) async -> Bool {
        await time.race(within: limit) { done in [old.loop.whenStopped(done)] }
        return old.loop.phase == .stopped
    }
}

extension HostedSet {
    /// Returns the events that set the inputs of a system to their present values, the oldest first. The values come from buses
    /// and from the states of other systems.
    func presentInputs(of system: HostedSystem) -> [PresentInput] {
        guard !system.definition.inputs.isEmpty, let index = systems.firstIndex(where: { $0 === system }) else {
            return []
        }
        return memberships.links[index].compactMap { links[$0].presentInput(of: system) }.sorted { $0.time < $1.time }
    }

    /// Returns the group of a system, or `nil` without a group.
    func group(of system: HostedSystem) -> GroupDefinition? {
        guard let index = systems.firstIndex(where: { $0 === system }) else { return nil }
        return memberships.groups[index].map { graph.groups[$0] }
    }

    /// Returns the links from current-value buses to a system.
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
    /// Restarts a system at once in its initial state, also one that has ended because of faults.
    ///
    /// A system that waits for a restart starts without further delay, with the systems that restart with it. Otherwise,
    /// the other systems of its group go on. Earlier restarts and resets because of faults no longer count.
    ///
    /// The call returns when the system has started. Its side effects have then ended, or were left behind after some
    /// seconds.
    ///
    /// - Parameter client: The client that asks, or `nil` for the program itself.
    /// - Throws: `HostError` if the system is unknown, cannot restart now, or does not run after the restart.
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

    /// Resets a running system to its initial state before it takes another event. Waiting events stay, and side effects
    /// that continue on a new state go on.
    ///
    /// - Parameter client: The client that asks, or `nil` for the program itself.
    /// - Throws: `HostError` if the system is unknown or does not run.
    public func reset(_ name: String, by client: HostClient? = nil) throws(HostError) {
        try reset(name, by: client, announcing: nil)
    }

    /// Resets a running system to its initial state before it takes another event.
    ///
    /// - Parameter announcement: The log line of the request, or `nil` without one.
    package func reset(
        _ name: String, by client: HostClient?, announcing announcement: Announcement?
    ) throws(HostError) {
        let system = try named(name)
        let cause = Cause(Cause.RequestOrigin(.reset, client, announcing: announcement), at: time.now())
        guard !isStopped, system.reset(because: cause) else {
            throw Self.refusal(by: system)
        }
        announcement?.make()
        system.forgetFaults()
    }

    /// Returns the error for a request that a system does not accept now.
    ///
    /// - Parameter reason: The reason, in words, or `nil` for the text of the obstacle.
    static func refusal(by system: HostedSystem, reason: String? = nil) -> HostError {
        let (kind, text) = obstacle(to: system)
        return .notAccepted(system: system.definition.name, obstacle: kind, reason: reason ?? text)
    }

    /// Returns the obstacle that keeps a system from accepting requests, with its text.
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

    /// The requests to end the daemon. At most one unread request is kept. The stream ends when the host stops.
    public var escalations: AsyncStream<Escalation> { supervisor.escalations }
}
