public import Synchronization

/// How many async actions of serial dispatches may wait to be told to those who watch, before the dispatches wait, too.
private let noteLimit = 1_024

/// Who is told of the async actions that serial dispatches come to.
@usableFromInline
final class NoteWatcher<AsyncAction: Sendable>: Sendable {
    let see: @Sendable (AsyncAction) -> Void
    /// Whether it is its turn: from when it has seen the store's state, until it leaves.
    @usableFromInline let isThere = Atomic<Bool>(false)

    @usableFromInline
    init(see: @escaping @Sendable (AsyncAction) -> Void) {
        self.see = see
    }
}

extension StoreTurn {
    /// One more who is told.
    @usableFromInline
    func add(_ watcher: NoteWatcher<AsyncAction>) {
        noteWatchers.withLock { $0.append(watcher) }
    }

    /// One fewer.
    @usableFromInline
    func remove(_ watcher: NoteWatcher<AsyncAction>) {
        watcher.isThere.store(false, ordering: .releasing)
        let removed = noteWatchers.withLock { watchers in
            watchers.firstIndex { $0 === watcher }.map { watchers.remove(at: $0) }
        }
        withExtendedLifetime(removed) {}
    }
}

/// Works a dispatch off one action after the other: what an action leads to, all of it, comes before the next one.
///
/// The actions form a tree, walked depth first with a stack of its own: no recursion, and an action that ends by
/// yielding another one leaves nothing behind, as long as its thunk answers with actions known at once.
extension StoreTurn {
    /// Where the next actions come from.
    private enum Frame {
        case list(ArraySlice<Action>, depth: Int)
        case pull(() async -> Action?, depth: Int)
    }

    /// An effect that works the dispatch off in one task.
    @usableFromInline
    func startSerially(_ actions: [Action], _ part: Part, in state: State) -> Effect<Event> {
        let ticket = part.ticket
        guard let run = begin(ticket) else {
            part.finish()
            return .nothing
        }
        let thunkState = thunkState(state)
        return Effect.run { [weak self] send in
            await self?.walk(actions, ticket, thunkState, send)
            if Task.isCancelled { ticket.cancel() }
            ticket.end(run)
            part.finish()
        }.id(run)
    }

    private func walk(
        _ actions: [Action], _ ticket: Ticket, _ state: ThunkState<State>, _ send: Send<Event>
    ) async {
        // What sends as it goes does so in a task of the group.
        await withDiscardingTaskGroup { group in
            var frames: [Frame] = [.list(actions[...], depth: 0)]
            var steps = 0
            while !Task.isCancelled, !ticket.isCancelled, let top = frames.popLast() {
                // An action that yields itself for ever must leave room for the store's turn, and for others.
                steps &+= 1
                if steps % 64 == 0 { await Task.yield() }
                let next: (action: Action, depth: Int)
                switch top {
                case .list(var rest, let depth):
                    guard let action = rest.popFirst() else { continue }
                    if !rest.isEmpty { frames.append(.list(rest, depth: depth)) }
                    next = (action, depth)
                case .pull(let pull, let depth):
                    guard let action = await pull() else { continue }
                    frames.append(top)
                    next = (action, depth)
                }
                switch next.action {
                case .sync:
                    await offer(next.action, of: ticket, depth: next.depth, to: send)
                case .async(let list) where list.count > 1:
                    frames.append(.list(list.map { .async([$0]) }[...], depth: next.depth))
                case .async(let list):
                    guard let action = list.first else { continue }
                    guard next.depth <= limits.depth else {
                        ticket.fail(.depthExceeded(action, limit: limits.depth))
                        continue
                    }
                    await note(action)
                    let output = rules.thunk?(state, action) ?? .nothing
                    switch output.kind {
                    case .actions(let actions): frames.append(.list(actions[...], depth: next.depth + 1))
                    case .task(let body): frames.append(.list(await body()[...], depth: next.depth + 1))
                    case .pull(let makeNext): frames.append(.pull(makeNext(), depth: next.depth + 1))
                    case .run(let body):
                        let (stream, continuation) = channel()
                        group.addTask {
                            await body(self.buffering(into: continuation, ticket))
                            continuation.finish()
                        }
                        frames.append(.pull(Self.next(of: stream), depth: next.depth + 1))
                    case .subscribe(let start):
                        let (stream, continuation) = channel()
                        let subscription = start(buffering(into: continuation, ticket)) { continuation.finish() }
                        continuation.onTermination = { _ in subscription.cancel() }
                        frames.append(.pull(Self.next(of: stream), depth: next.depth + 1))
                    }
                }
            }
            if Task.isCancelled || ticket.isCancelled { group.cancelAll() }
        }
    }

    /// Has those who watch told, on the loop's turn and in order with the events, that the dispatch has come to an
    /// action. It takes no room in the mailbox, so that a store does the same whether or not it is watched; only when
    /// very many wait to be told does the dispatch wait for the turn.
    private func note(_ action: AsyncAction) async {
        guard taps.load(ordering: .relaxed) > 0, let loop else { return }
        guard noteWatchers.withLock({ !$0.isEmpty }) else { return }
        let isCrowded = openNotes.add(1, ordering: .relaxed).newValue > noteLimit
        let tell: @Sendable () -> Void = { [weak self, weak loop] in
            guard let self else { return }
            openNotes.subtract(1, ordering: .relaxed)
            // When the loop ends, what waits is called by who ends it: then nobody is told.
            guard let loop, loop.phase == .running || loop.phase == .stopping else { return }
            guard !isReplaying.load(ordering: .relaxed) else { return }
            for watcher in noteWatchers.withLock({ $0 }) where watcher.isThere.load(ordering: .acquiring) {
                watcher.see(action)
            }
        }
        guard isCrowded else { return loop.afterPending(tell) }
        await withCheckedContinuation { continuation in
            loop.afterPending {
                tell()
                continuation.resume()
            }
        }
    }

    /// Holds what a thunk sends while the dispatch is elsewhere in the tree.
    private func channel() -> (AsyncStream<Action>, AsyncStream<Action>.Continuation) {
        let (stream, continuation) = AsyncStream<Action>.makeStream(
            bufferingPolicy: .bufferingOldest(limits.collected))
        return (stream, continuation)
    }

    private func buffering(
        into continuation: AsyncStream<Action>.Continuation, _ ticket: Ticket
    ) -> ThunkSend<AsyncAction, SyncAction> {
        let limit = limits.collected
        return ThunkSend { action in
            switch continuation.yield(action) {
            case .enqueued: return .accepted
            case .dropped:
                ticket.fail(.tooManyCollected(limit: limit))
                return .dropped(.mailboxFull)
            default: return .dropped(.cancelled)
            }
        }
    }

    private static func next(of stream: AsyncStream<Action>) -> () async -> Action? {
        var iterator = stream.makeAsyncIterator()
        return { await iterator.next(isolation: #isolation) }
    }
}
