/// Follows one event through the systems until a place comes again: then the circle is a loop.
///
/// The search is depth-first over places: the next firing, and the states to which the event has led systems. At first
/// no state is known, and a system is in any state that suits the step.
struct LoopSearch {
    /// An effect of a firing: other firings, by a transition of a system or at once by a bus.
    struct Step {
        /// The system, if it is a transition.
        var system: Int
        /// The state before; nil for a bus.
        var from: Int?
        /// The state after; nil for a bus.
        var to: Int?
        /// The firings that may follow.
        var next: [Int]
    }

    /// A result of the search.
    enum Outcome {
        /// The firings in order, until everything is as before.
        case loop([Int])
        /// One event cannot go round from here.
        case none
        /// The search was too long and gave up.
        case undecided
    }

    private struct Place: Hashable {
        var firing: Int
        /// By system, its state, if it is known.
        var states: [Int: Int]
    }

    private struct Frame {
        var place: Place
        var moves: [Place]
        var next = 0

        /// The part of the budget that the frame uses: a place with many systems takes more memory.
        var cost: Int { 1 + moves.count * (1 + place.states.count / 16) }
    }

    private let steps: [[Step]]
    private let members: Set<Int>
    private let counts: ([Int]) -> Bool
    private var budget: Int

    /// A search.
    ///
    /// - Parameters:
    ///   - steps: By firing, its effects.
    ///   - members: The firings that are followed.
    ///   - budget: The number of moves after which the search gives up; fewer if it moves many systems.
    ///   - counts: Whether a circle of such firings counts as a loop.
    init(_ steps: [[Step]], within members: Set<Int>, budget: Int, counts: @escaping ([Int]) -> Bool) {
        self.steps = steps
        self.members = members
        self.budget = budget
        self.counts = counts
    }

    /// Searches from a firing on.
    mutating func search(from firing: Int) -> Outcome {
        let start = Place(firing: firing, states: [:])
        var isOnPath: [Place: Bool] = [start: true]
        var path = [Frame(place: start, moves: moves(from: start))]
        budget -= path[0].cost
        while let frame = path.last {
            guard frame.next < frame.moves.count else {
                isOnPath[frame.place] = false
                path.removeLast()
                continue
            }
            path[path.count - 1].next += 1
            let place = frame.moves[frame.next]
            switch isOnPath[place] {
            case true?:
                guard let first = path.firstIndex(where: { $0.place == place }) else { continue }
                let fired = path[first...].map(\.place.firing)
                if counts(fired) { return .loop(fired) }
            case false?: continue
            case nil:
                guard budget > 0 else { return .undecided }
                isOnPath[place] = true
                let next = Frame(place: place, moves: moves(from: place))
                budget -= next.cost
                path.append(next)
            }
        }
        return .none
    }

    private func moves(from place: Place) -> [Place] {
        steps[place.firing].flatMap { step -> [Place] in
            var states = place.states
            if let from = step.from, let to = step.to {
                if let known = states[step.system], known != from { return [] }
                states[step.system] = to
            }
            return step.next.filter(members.contains).map { Place(firing: $0, states: states) }
        }
    }
}
