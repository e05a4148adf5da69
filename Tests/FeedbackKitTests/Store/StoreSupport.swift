import FeedbackKit
import FeedbackKitTesting
import Synchronization
import TestSupport

/// A counter with a log of the added numbers, for stores under test.
struct Tally: Equatable, Codable, Sendable {
    var total = 0
    var log: [String] = []
}

enum TallyAction: Codable, Equatable, Sendable {
    case add(Int)
    case note(String)
    case nothing
}

enum TallyWork: Equatable, Sendable {
    case emit([TallyAction])
    case both(String)
    case chain(Int)
    case forever
    case fork
    case wait(String)
}

typealias TallyStore = BaseStore<Tally, TallyWork, TallyAction>
typealias TallyEither = EitherAction<TallyWork, TallyAction>

let tallyReducer = Reducer<Tally, TallyAction> { state, action in
    switch action {
    case .add(let value): state.total += value
    case .note(let text): state.log.append(text)
    case .nothing: break
    }
}

/// A thunk that executes its action.
func tallyThunk(_ gates: TallyGates = TallyGates()) -> Thunk<Tally, TallyAction, TallyWork, Void> {
    Thunk { (state, action, _) -> ThunkOutput<TallyWork, TallyAction> in
        switch action {
        case .emit(let actions): .actions(actions.map { .sync($0) })
        case .both(let name):
            .run { send in
                send(.sync(.note(name + " begins")))
                await gates[name].opened()
                send(.sync(.note(name + " ends")))
            }
        case .chain(let left):
            .actions(left == 0 ? [.sync(.note("end"))] : [.sync(.add(1)), .async(.chain(left - 1))])
        case .forever: .actions(.sync(.add(1)), .async(.forever))
        case .fork: .actions(.async(.fork, .fork))
        case .wait(let name):
            .task {
                await gates[name].opened()
                return [.sync(.note(name))]
            }
        }
    }
}

/// Gates by name.
final class TallyGates: Sendable {
    private let gates = Mutex<[String: Gate]>([:])

    subscript(_ name: String) -> Gate {
        gates.withLock { gates in
            if let gate = gates[name] { return gate }
            let gate = Gate()
            gates[name] = gate
            return gate
        }
    }
}

func tallyStore(
    _ state: Tally = Tally(), gates: TallyGates = TallyGates(), publishOn executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(), limits: StoreLimits = StoreLimits(),
    onFault: (@Sendable (StoreFault) -> Void)? = nil
) -> TallyStore {
    TallyStore(
        state: state, reducer: tallyReducer, thunk: tallyThunk(gates), publishOn: executor, clock: clock,
        limits: limits,
        onFault: onFault)
}

/// Returns when the condition holds for the store's state.
func until(_ store: some StoreProtocol<Tally, TallyWork, TallyAction>, _ holds: (Tally) -> Bool) async {
    for await state in store.changes where holds(state) { return }
}

/// Counts live instances.
final class TallyCounted: Sendable {
    static let living = Atomic<Int>(0)
    init() { Self.living.add(1, ordering: .relaxed) }
    deinit { Self.living.subtract(1, ordering: .relaxed) }
}

/// An executor that runs a loop on command.
final class HeldTurns: LoopExecutor {
    private let turns = Mutex<[@Sendable () -> Void]>([])
    var eventsPerTurn: Int { 256 }
    /// A Boolean value that indicates whether a job waits.
    var isWaiting: Bool { turns.withLock { !$0.isEmpty } }

    func enqueue(_ turn: @escaping @Sendable () -> Void) { turns.withLock { $0.append(turn) } }

    /// Takes the job that has waited longest out of the queue.
    private func next() -> (@Sendable () -> Void)? {
        turns.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    /// Runs one job, if any.
    @discardableResult
    func runOne() -> Bool {
        guard let turn = next() else { return false }
        turn()
        return true
    }

    /// Runs jobs until none waits.
    func run() {
        while let turn = next() { turn() }
    }

    /// Runs jobs as they arrive until the answer is there.
    func run<Answer: Sendable>(until answer: @escaping @Sendable () async -> Answer) async -> Answer {
        let ended = Counter()
        async let value = {
            defer { ended.add(1) }
            return await answer()
        }()
        while ended.value == 0 {
            run()
            await Task.yield()
        }
        return await value
    }
}
