public import Synchronization

/// The maximum number of async actions of serial dispatches that wait for their watchers. Beyond it, the dispatches
/// wait.
private let noteLimit = 1_024

/// A watcher of the async actions of serial dispatches.
@usableFromInline
final class AsyncActionWatcher<AsyncAction: Sendable>: Sendable {
    let handler: @Sendable (AsyncAction) -> Void
    /// A Boolean value that indicates whether the watcher receives actions: from its first state until it unsubscribes.
    @usableFromInline let isThere = Atomic<Bool>(false)

    @usableFromInline
    init(handler: @escaping @Sendable (AsyncAction) -> Void) {
        self.handler = handler
    }
}

extension StoreCore {
    /// Adds a watcher.
    @usableFromInline
    func add(_ watcher: AsyncActionWatcher<AsyncAction>) {
        noteWatchers.withLock { $0.append(watcher) }
    }

    /// Removes a watcher.
    @usableFromInline
    func remove(_ watcher: AsyncActionWatcher<AsyncAction>) {
        watcher.isThere.store(false, ordering: .releasing)
        let removed = noteWatchers.withLock { watchers in
            watchers.firstIndex { $0 === watcher }.map { watchers.remove(at: $0) }
        }
        withExtendedLifetime(removed) {}
    }
}

/// Runs a dispatch one action after the other: everything that an action causes comes before the next action.
///
/// The actions form a tree. It is walked depth first with an explicit stack, without recursion. An action that ends by
/// yielding another one leaves nothing on the stack, as long as its thunk returns the actions at once.
extension StoreCore {
    /// The source of the next actions.
    private enum Frame {
        case list(ArraySlice<Action>, depth: Int)
        case pull(() async -> Action?, depth: Int)
    }

    /// Returns an effect that runs the whole dispatch in one task.
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
        // A thunk that sends actions while it runs does so in a task of the group.
        await withDiscardingTaskGroup { group in
            var frames: [Frame] = [.list(actions[...], depth: 0)]
            var steps = 0
            while !Task.isCancelled, !ticket.isCancelled, let top = frames.popLast() {
                // An action that yields itself for ever must leave time for the store's loop and for other tasks.
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

    /// Notifies the watchers that the dispatch has reached an async action, on the loop's executor and in order with
    /// the events. The notice takes no room in the mailbox, so watching never changes the store's behaviour. The
    /// dispatch waits only when ``noteLimit`` notices wait.
    private func note(_ action: AsyncAction) async {
        guard watcherCount.load(ordering: .relaxed) > 0, let loop else { return }
        guard noteWatchers.withLock({ !$0.isEmpty }) else { return }
        let isCrowded = openNotes.add(1, ordering: .relaxed).newValue > noteLimit
        let tell: @Sendable () -> Void = { [weak self, weak loop] in
            guard let self else { return }
            openNotes.subtract(1, ordering: .relaxed)
            // A loop that ends calls the waiting functions on the thread that ends it; the watchers then get no notice.
            guard let loop, loop.phase == .running || loop.phase == .stopping else { return }
            guard !isReplaying.load(ordering: .relaxed) else { return }
            for watcher in noteWatchers.withLock({ $0 }) where watcher.isThere.load(ordering: .acquiring) {
                watcher.handler(action)
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

    /// Returns a channel for the actions that a thunk sends while the dispatch is elsewhere in the tree.
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
