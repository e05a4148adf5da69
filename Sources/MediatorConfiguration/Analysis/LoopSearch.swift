/// Follows events in flight through the systems, as far as it is known in which state each system is, until everything
/// is as it was before: only then a circle of links is a loop.
///
/// The search is depth-first over places: what is about to fire, and the states systems were last led to. At first no
/// state is known, and a system is in whichever state suits the step. One event in flight finds the usual loop; two find
/// the one in which two events keep each other going, each undoing what the other has done.
struct LoopSearch {
    /// Where firing may lead: to other firings, by a transition of a system or at once by a bus.
    struct Step {
        /// The system, if it is a transition.
        var system: Int
        /// From which state; nil for a bus.
        var from: Int?
        /// To which state; nil for a bus.
        var to: Int?
        /// What may fire then.
        var next: [Int]
    }

    /// What the search comes to.
    enum Outcome {
        /// What fires, in order, until everything is as before.
        case loop([Int])
        /// There is no loop.
        case none
        /// The search was given up.
        case undecided
    }

    private struct Place: Hashable {
        /// What is about to fire, sorted.
        var firings: [Int]
        /// By system, its state, where it is known.
        var states: [Int: Int]
    }

    private struct Frame {
        var place: Place
        var moves: [(fired: Int, place: Place)]
        var next = 0

        /// What it takes of the budget: a place with many systems takes more memory.
        var cost: Int { 1 + moves.count * (1 + place.states.count / 16) }
    }

    /// How many ways of choosing from what fires at once are followed.
    private static let choices = 64

    private let steps: [[Step]]
    private let members: Set<Int>
    private let counts: ([Int]) -> Bool
    private var budget: Int

    /// A search.
    ///
    /// - Parameters:
    ///   - steps: By firing, where it leads.
    ///   - members: The firings that are followed.
    ///   - budget: How many moves are looked at, fewer where many systems are moved.
    ///   - counts: Whether a circle of such firings counts as a loop.
    init(_ steps: [[Step]], within members: Set<Int>, budget: Int, counts: @escaping ([Int]) -> Bool) {
        self.steps = steps
        self.members = members
        self.budget = budget
        self.counts = counts
    }

    /// Searches from some firings on, with as many events in flight at the most.
    mutating func search(from firings: [Int]) -> Outcome {
        let start = Place(firings: firings.sorted(), states: [:])
        var isOnPath: [Place: Bool] = [start: true]
        var path = [Frame(place: start, moves: moves(from: start, atMost: firings.count))]
        budget -= path[0].cost
        while let frame = path.last {
            guard frame.next < frame.moves.count else {
                isOnPath[frame.place] = false
                path.removeLast()
                continue
            }
            path[path.count - 1].next += 1
            let place = frame.moves[frame.next].place
            switch isOnPath[place] {
            case true?:
                guard let first = path.firstIndex(where: { $0.place == place }) else { continue }
                let fired = path[first...].map { $0.moves[$0.next - 1].fired }
                if counts(fired) { return .loop(fired) }
            case false?: continue
            case nil:
                guard budget > 0 else { return .undecided }
                isOnPath[place] = true
                let next = Frame(place: place, moves: moves(from: place, atMost: firings.count))
                budget -= next.cost
                path.append(next)
            }
        }
        return .none
    }

    private func moves(from place: Place, atMost limit: Int) -> [(fired: Int, place: Place)] {
        var moves: [(fired: Int, place: Place)] = []
        for (index, firing) in place.firings.enumerated() {
            var others = place.firings
            others.remove(at: index)
            for step in steps[firing] {
                var states = place.states
                if let from = step.from, let to = step.to {
                    if let known = states[step.system], known != from { continue }
                    states[step.system] = to
                }
                let flying = others + step.next.filter(members.contains)
                for chosen in Self.selections(of: flying, atMost: limit) where !chosen.isEmpty {
                    moves.append((firing, Place(firings: chosen.sorted(), states: states)))
                }
            }
        }
        return moves
    }

    /// All of them, or if they are more than are followed every choice of one or two.
    private static func selections(of firings: [Int], atMost limit: Int) -> [[Int]] {
        guard firings.count > limit else { return [firings] }
        guard limit > 1 else { return firings.map { [$0] } }
        var selections: [[Int]] = []
        for (index, first) in firings.enumerated() {
            for second in firings[(index + 1)...] where selections.count < choices {
                selections.append([first, second])
            }
        }
        return selections
    }
}
