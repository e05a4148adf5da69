import MediatorConfiguration
import MediatorControl
import MediatorHost
import Synchronization
import Varlink

extension HostControl {
    /// The changes, as long as the peer may read.
    private func watch<Subject, Reply: Sendable>(
        _ changes: Changes<Subject>, _ peer: VarlinkPeer, _ reply: @escaping @Sendable (Change<Subject>) -> Reply
    ) -> AsyncThrowingStream<Reply, any Error> {
        let pace = pace(of: peer)
        return AsyncThrowingStream {
            guard let change = await changes.next(pace: pace) else { return nil }
            guard access.allows(.read, peer) else { throw MissingRight(.read) }
            return reply(change)
        }
    }

    func watchSystem(
        _ name: String, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchSystemReply, any Error> {
        let changes = try translate { () throws(HostError) in try host.watchSystem(name) }
        return watch(changes, peer) { change in
            let state = change.subject
            let definition = state.definition
            return WatchSystemReply(
                time: "\(change.time)",
                replayed: change.isReplayed,
                state: SystemState(state, of: definition),
                previous: state.nameOfPrevious,
                event: state.event.map(definition.eventName),
                eventData: state.event.map { ValueCoding.fields(of: $0.data) },
                dropped: change.dropped)
        }
    }

    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error> {
        let changes = try translate { () throws(HostError) in try host.watchBus(name) }
        return watch(changes, peer) { change in
            WatchBusReply(
                time: "\(change.time)", replayed: change.isReplayed, value: ValueCoding.json(change.subject),
                dropped: change.dropped)
        }
    }

    func watch(
        _ parameters: WatchParameters, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchReply, any Error> {
        let rate = try WatchRate(parameters)
        // A condition is checked against the types of all parts, which is too long for the event loop.
        await pay(UserBudgets.watch + host.graph.systems.count * UserBudgets.part, peer)
        let happenings = try await Task.detached(priority: .management) { [host] in
            let condition = try WatchCondition(parameters)
            try condition.check(host.watchedParts)
            let pace = pace(of: peer, condition: condition.cost)
            return host.watch(rate: rate, pace: pace) { condition.filter(of: $0, pace: pace) }
        }.value
        let isAnnounced = parameters.announce == true
        let announcement = Mutex(isAnnounced ? WatchReply(time: "\(host.time.now())", topic: .watching) : nil)
        return AsyncThrowingStream {
            if let reply = announcement.withLock({ $0.take() }) { return reply }
            guard let happening = await happenings.next() else { return nil }
            guard access.allows(.read, peer) else { throw MissingRight(.read) }
            return WatchReply(happening)
        }
    }
}
