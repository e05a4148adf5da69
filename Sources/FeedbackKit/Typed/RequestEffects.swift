/// The requests of a `react` feedback that have an effect, within one loop.
@usableFromInline
final class RequestEffects<ID: Hashable & Sendable, Request: Equatable & Sendable>: Sendable {
    /// The name of one request's effect, unique in the loop.
    private struct Name: Hashable, Sendable {
        let owner: ObjectIdentifier
        let id: ID
        let part: Int
    }

    /// A request that has an effect.
    private struct Known: Sendable {
        var request: Request
        let feed: AsyncStream<Request>.Continuation
        let names: [EffectID]
    }

    private let known = LoopMemory<[ID: Known]>([:])

    private let buffering: AsyncStream<Request>.Continuation.BufferingPolicy

    @usableFromInline
    init(buffering: AsyncStream<Request>.Continuation.BufferingPolicy) {
        self.buffering = buffering
    }

    /// Changes to other requests: cancels, feeds and starts effects.
    ///
    /// - Complexity: O(requests before and after), plus sorting those that appear, change or disappear.
    @usableFromInline
    func change<E: Sendable>(
        to wanted: [ID: Request], start: (Request, AsyncStream<Request>) -> Effect<E>
    ) -> Effect<E> {
        var known = known.exchange([:])
        defer { self.known.value = known }
        var effects: [Effect<E>] = []
        for id in inOrder(known.keys.filter { wanted[$0] == nil }) {
            guard let gone = known.removeValue(forKey: id) else { continue }
            gone.feed.finish()
            effects += gone.names.map { Effect(kind: .cancel($0)) }
        }
        for id in inOrder(wanted.keys.filter { known[$0]?.request != wanted[$0] }) {
            guard let request = wanted[id] else { continue }
            if known[id] != nil {
                known[id]?.request = request
                known[id]?.feed.yield(request)
            } else {
                let (requests, feed) = AsyncStream.makeStream(of: Request.self, bufferingPolicy: buffering)
                feed.yield(request)
                var names: [EffectID] = []
                effects.append(named(start(request, requests), for: id, &names))
                known[id] = Known(request: request, feed: feed, names: names)
            }
        }
        return effects.isEmpty ? .nothing : .all(effects)
    }

    /// Returns the effect under a name by which it can be cancelled: its own name, if it has one.
    private func named<E: Sendable>(_ effect: Effect<E>, for id: ID, _ names: inout [EffectID]) -> Effect<E> {
        switch effect.kind {
        case .nothing, .cancel:
            return alone(effect)
        case .all(let effects) where effect.box == nil:
            return .all(effects.map { named($0, for: id, &names) })
        default:
            let own = effect.options.id ?? EffectID(Name(owner: ObjectIdentifier(self), id: id, part: names.count))
            names.append(own)
            return alone(effect).with { $0.id = own }
        }
    }

    /// Wraps an effect that would cancel everything in its feedback, so that it cannot cancel the other requests'
    /// effects.
    private func alone<E: Sendable>(_ effect: Effect<E>) -> Effect<E> {
        effect.options.endsPrevious ? effect.with { $0.endsPrevious = false } : effect
    }

    /// Sorts by the description, of bounded length, because the order of sets and dictionaries differs from run to run.
    private func inOrder(_ ids: [ID]) -> [ID] {
        guard ids.count > 1 else { return ids }
        return ids.map { (id: $0, text: ValueTree($0).line) }.sorted { $0.text < $1.text }.map(\.id)
    }
}
