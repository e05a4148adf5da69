/// What a simulation knows and decides, as a plain value: which work is runnable, who sleeps until when, and which of
/// the runnable entries is next. It runs nothing and resumes nobody.
struct SimulationMachine: Sendable {
    /// A moment of the simulated time.
    typealias Instant = ManualClock.Instant
    /// Someone who sleeps.
    typealias Sleep = CheckedContinuation<Void, any Error>

    /// Something that can run.
    enum Work: Sendable {
        /// A turn of a loop.
        case turn(@Sendable () -> Void)
        /// A part of a task, from one suspension to the next.
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
        /// Counts from 1, in the order of arrival.
        let number: UInt64
        /// The entry that was running when it arrived; 0: none was.
        let cause: UInt64
        let work: Work
    }

    /// Someone who sleeps until a moment.
    struct Sleeper: Sendable {
        let number: UInt64
        let deadline: Instant
        let sleep: Sleep
    }

    /// How far time may be advanced when nothing is runnable.
    enum Horizon: Sendable {
        /// Not at all.
        case now
        /// Up to this moment.
        case until(Instant)
        /// To whoever sleeps longest.
        case end
    }

    /// What to do next.
    enum Next: Sendable {
        case run(Work)
        /// Nothing within the horizon.
        case rest
    }

    private(set) var now = Instant(offset: .zero) {
        didSet { nowText = now.offset.description }
    }
    /// The time as the trace writes it; writing it anew at each step would be half the cost of a step.
    private var nowText = Duration.zero.description
    private(set) var runnable: [Entry] = []
    /// Sorted by deadline, then by number.
    private(set) var sleepers: [Sleeper] = []
    private(set) var steps: UInt64 = 0
    private(set) var trace: SimulationTrace
    /// Whether someone drives.
    private(set) var isDriven = false
    private var generator: SplitMix64
    private var nextNumber: UInt64 = 1
    private var running: UInt64 = 0
    /// Sleeps cancelled before they began.
    private var cancelled: Set<UInt64> = []

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
        trace = SimulationTrace(seed: seed)
    }

    // MARK: Arrival

    /// A number for something new.
    mutating func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Work arrives.
    mutating func add(_ work: Work) {
        runnable.append(Entry(number: takeNumber(), cause: running, work: work))
    }

    /// Someone wants to sleep. Answers the sleep if it is to end at once, because it has been cancelled.
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

    /// A sleep is cancelled. Answers whom to wake.
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

    /// A sleep is over: a cancellation that came too late is forgotten.
    mutating func forget(_ number: UInt64) {
        cancelled.remove(number)
    }

    /// Takes out everybody who sleeps.
    mutating func takeSleepers() -> [Sleeper] {
        defer { sleepers = [] }
        return sleepers
    }

    /// A line of the test's own.
    mutating func note(_ text: String) {
        trace.add("note \(text)")
    }

    // MARK: Driving

    /// Someone begins to drive; `false`: someone does already.
    mutating func beginDriving() -> Bool {
        if isDriven { return false }
        isDriven = true
        return true
    }

    mutating func endDriving() {
        isDriven = false
        running = 0
    }

    /// Chooses what runs next, advancing time if nothing is runnable.
    mutating func next(within horizon: Horizon) -> Next {
        running = 0
        if runnable.isEmpty { advance(within: horizon) }
        guard !runnable.isEmpty else { return .rest }
        let index = generator.index(below: runnable.count)
        runnable.swapAt(index, runnable.count - 1)
        let entry = runnable.removeLast()
        steps += 1
        running = entry.number
        trace.add("\(steps) \(nowText) \(entry.work.name) \(entry.number) by \(entry.cause)")
        return .run(entry.work)
    }

    /// Advances time to the next deadline, or to the horizon, and makes whoever is due runnable.
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
