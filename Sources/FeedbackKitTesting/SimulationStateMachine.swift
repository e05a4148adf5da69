/// The state machine of a simulation, as a plain value: runnable work, sleepers with their deadlines, and the choice of
/// the next entry. It runs no work and resumes no task.
struct SimulationStateMachine: Sendable {
    /// An instant of the simulated time.
    typealias Instant = ManualClock.Instant
    /// The continuation of a sleeping task.
    typealias Sleep = CheckedContinuation<Void, any Error>

    /// A piece of runnable work.
    enum Work: Sendable {
        /// A job of a loop.
        case turn(@Sendable () -> Void)
        /// A job of a task, from one suspension to the next.
        case job(UnownedJob)
        /// The end of a sleep.
        case wake(Sleep)

        var name: String {
            switch self {
            case .turn: "turn"
            case .job: "job"
            case .wake: "wake"
            }
        }
    }

    /// A piece of work in the list.
    struct Entry: Sendable {
        /// The number of the entry, counted from 1 in the order of arrival.
        let number: UInt64
        /// The number of the entry that ran when this one arrived, or 0.
        let cause: UInt64
        let work: Work
    }

    /// A task that sleeps until a deadline.
    struct Sleeper: Sendable {
        let number: UInt64
        let deadline: Instant
        let sleep: Sleep
    }

    /// The limit up to which the time may advance when no entry is runnable.
    enum Horizon: Sendable {
        /// The time does not advance.
        case now
        /// The time advances up to this instant.
        case until(Instant)
        /// The time advances to the last deadline.
        case end
    }

    /// The next step.
    enum Next: Sendable {
        case run(Work)
        /// No entry is left within the horizon.
        case rest
    }

    private(set) var now = Instant(offset: .zero) {
        didSet { nowText = now.offset.description }
    }
    /// The time as text for the trace; formatting it in each step would take half the step's time.
    private var nowText = Duration.zero.description
    private(set) var runnable: [Entry] = []
    /// The sleepers, sorted by deadline and then by number.
    private(set) var sleepers: [Sleeper] = []
    private(set) var steps: UInt64 = 0
    private(set) var trace: SimulationTrace
    /// The number of loops.
    private var loops = 0
    /// A Boolean value that indicates whether a caller drives the simulation.
    private(set) var isDriven = false
    private var generator: SplitMix64
    private var nextNumber: UInt64 = 1
    private var running: UInt64 = 0
    /// The sleeps that were cancelled before they began.
    private var cancelled: Set<UInt64> = []

    /// The number of choices among several entries.
    private(set) var choices = 0
    private let randomChoices: Int

    init(seed: UInt64, randomChoices: Int = .max) {
        self.randomChoices = randomChoices
        generator = SplitMix64(seed: seed)
        trace = SimulationTrace(seed: seed)
    }

    // MARK: Arrival

    /// Returns a new number.
    mutating func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Adds work.
    mutating func add(_ work: Work) {
        runnable.append(Entry(number: takeNumber(), cause: running, work: work))
    }

    /// Adds a sleep. Returns the continuation if the sleep must end at once because it was cancelled.
    mutating func sleep(_ number: UInt64, until deadline: Instant, _ sleep: Sleep) -> Sleep? {
        if cancelled.remove(number) != nil { return sleep }
        trace.add("sleep \(number) until \(deadline.offset)")
        if deadline <= now {
            runnable.append(Entry(number: number, cause: running, work: .wake(sleep)))
            return nil
        }
        let sleeper = Sleeper(number: number, deadline: deadline, sleep: sleep)
        var (low, high) = (0, sleepers.count)
        while low < high {
            let middle = (low + high) / 2
            let other = sleepers[middle]
            if (other.deadline, other.number) < (deadline, number) { low = middle + 1 } else { high = middle }
        }
        sleepers.insert(sleeper, at: low)
        return nil
    }

    /// Cancels a sleep. Returns the continuation to resume.
    mutating func cancel(_ number: UInt64) -> Sleep? {
        if let index = sleepers.firstIndex(where: { $0.number == number }) {
            trace.add("cancel \(number)")
            return sleepers.remove(at: index).sleep
        }
        let index = runnable.firstIndex { entry in
            if case .wake = entry.work { entry.number == number } else { false }
        }
        if let index, case .wake(let sleep) = runnable.remove(at: index).work {
            trace.add("cancel \(number)")
            return sleep
        }
        cancelled.insert(number)
        return nil
    }

    /// Forgets a late cancellation of a sleep that has ended.
    mutating func forget(_ number: UInt64) {
        cancelled.remove(number)
    }

    /// Removes and returns all sleepers.
    mutating func takeSleepers() -> [Sleeper] {
        defer { sleepers = [] }
        return sleepers
    }

    /// Numbers a loop. Returns its number, from 1.
    mutating func addLoop(_ name: String) -> Int {
        loops += 1
        trace.add("loop \(loops) has the state \(name)")
        return loops
    }

    /// Adds a line of a loop to the trace.
    mutating func addLine(_ line: String) {
        trace.add(line)
    }

    /// Adds a line of the test to the trace.
    mutating func note(_ text: String) {
        trace.add("note \(text)")
    }

    // MARK: Driving

    /// Begins to drive. Returns `false` if another caller drives already.
    mutating func beginDriving() -> Bool {
        if isDriven { return false }
        isDriven = true
        return true
    }

    mutating func endDriving() {
        isDriven = false
        running = 0
    }

    /// Chooses the next entry, and advances the time if no entry is runnable.
    mutating func next(within horizon: Horizon) -> Next {
        running = 0
        if runnable.isEmpty { advance(within: horizon) }
        guard !runnable.isEmpty else { return .rest }
        let index = choose()
        runnable.swapAt(index, runnable.count - 1)
        let entry = runnable.removeLast()
        steps += 1
        running = entry.number
        trace.add("\(steps) \(nowText) \(entry.work.name) \(entry.number) by \(entry.cause)")
        return .run(entry.work)
    }

    /// Chooses a runnable entry: a random one, or the oldest one if the random choices are used up.
    private mutating func choose() -> Int {
        let random = generator.index(below: runnable.count)
        guard runnable.count > 1 else { return 0 }
        choices += 1
        guard choices > randomChoices else { return random }
        return runnable.indices.min { runnable[$0].number < runnable[$1].number } ?? 0
    }

    /// Advances the time to the next deadline or to the horizon, and makes the due sleepers runnable.
    private mutating func advance(within horizon: Horizon) {
        let target: Instant
        switch (horizon, sleepers.first?.deadline) {
        case (.now, _), (.end, nil): return
        case (.until(let end), nil): target = end
        case (.until(let end), let deadline?): target = min(end, deadline)
        case (.end, let deadline?): target = deadline
        }
        guard target > now else { return }
        now = target
        let due = sleepers.prefix { $0.deadline <= target }
        sleepers.removeFirst(due.count)
        for sleeper in due {
            runnable.append(Entry(number: sleeper.number, cause: sleeper.number, work: .wake(sleeper.sleep)))
        }
    }
}
