/// The queue of an ``AsyncMutex``, as a plain value. A visitor gets its place when it arrives, and brings a pass a moment later.
/// Nobody behind it enters in between.
package struct AsyncMutexStateMachine<Pass> {
    /// The answer to a visitor that arrives.
    package enum Arrival: Equatable {
        /// It is its turn.
        case enters
        /// It has a place, and is to bring its pass.
        case waits(UInt64)
        /// The queue is full.
        case isTurnedAway
    }

    /// The answer to a visitor that brings its pass.
    package enum Answer: Equatable {
        /// It is its turn.
        case enters
        /// It has been cancelled.
        case goes
        /// The machine keeps the pass.
        case waits
    }

    private enum Visitor {
        case arrived
        case waiting(Pass)
        /// It is its turn, before its pass is there.
        case admitted
        /// It was cancelled before its pass was there.
        case cancelled
    }

    private var isOccupied = false
    private var nextPlace: UInt64 = 1
    private var visitors: [UInt64: Visitor] = [:]

    package init() {}

    /// The number of visitors that wait.
    package var waiting: Int { visitors.count }

    /// Gives a place to a visitor.
    ///
    /// - Parameter limit: the number of visitors that may wait.
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
        // Few wait, as a rule.
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
