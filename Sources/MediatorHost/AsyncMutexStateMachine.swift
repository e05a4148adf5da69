/// The queue of an ``AsyncMutex``, as a plain value. A visitor gets its place when it arrives, and brings a pass a moment
/// later. No visitor behind it enters in between.
package struct AsyncMutexStateMachine<Pass> {
    /// The answer to a visitor that arrives.
    package enum Arrival: Equatable {
        /// The visitor may enter.
        case enters
        /// The visitor has this place in the queue, and must bring its pass.
        case waits(UInt64)
        /// The queue is full.
        case isTurnedAway
    }

    /// The answer to a visitor that brings its pass.
    package enum Answer: Equatable {
        /// The visitor may enter.
        case enters
        /// The visitor has been cancelled.
        case goes
        /// The machine keeps the pass.
        case waits
    }

    private enum Visitor {
        case arrived
        case waiting(Pass)
        /// The visitor may enter, but has not brought its pass yet.
        case admitted
        /// The visitor was cancelled before it brought its pass.
        case cancelled
    }

    private var isOccupied = false
    private var nextPlace: UInt64 = 1
    private var visitors: [UInt64: Visitor] = [:]

    package init() {}

    /// The number of waiting visitors.
    package var waiting: Int { visitors.count }

    /// Lets a visitor enter if nobody is inside, or gives it a place in the queue.
    ///
    /// - Parameter limit: The maximum number of waiting visitors.
    package mutating func arrive(limit: Int) -> Arrival {
        guard isOccupied else {
            isOccupied = true
            return .enters
        }
        guard visitors.count < limit else { return .isTurnedAway }
        defer { nextPlace += 1 }
        visitors[nextPlace] = .arrived
        return .waits(nextPlace)
    }

    /// Takes the pass of a visitor.
    package mutating func wait(_ place: UInt64, with pass: Pass) -> Answer {
        switch visitors[place] {
        case .admitted:
            visitors[place] = nil
            return .enters
        case .cancelled, nil:
            visitors[place] = nil
            return .goes
        case .arrived, .waiting:
            visitors[place] = .waiting(pass)
            return .waits
        }
    }

    /// Cancels a visitor, unless it is admitted already. Returns its pass, if it has brought one.
    package mutating func cancel(_ place: UInt64) -> Pass? {
        switch visitors[place] {
        case .arrived:
            visitors[place] = .cancelled
            return nil
        case .waiting(let pass):
            visitors[place] = nil
            return pass
        case .admitted, .cancelled, nil: return nil
        }
    }

    /// Lets the next visitor enter. Returns its pass, if it has brought one.
    package mutating func leave() -> Pass? {
        // A linear search is enough, because few visitors wait, as a rule.
        let next = visitors.filter { if case .cancelled = $0.value { false } else { true } }.keys.min()
        guard let next else {
            isOccupied = false
            return nil
        }
        guard case .waiting(let pass) = visitors[next] else {
            visitors[next] = .admitted
            return nil
        }
        visitors[next] = nil
        return pass
    }
}
