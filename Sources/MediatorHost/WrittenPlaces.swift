import MediatorConfiguration
import Synchronization

/// Where the parts of something that goes on running are written now. A reload keeps a system or a link that still says the
/// same, with the definition with which it runs; but its file may have been edited around it.
final class WrittenPlaces: Sendable {
    /// By where a part was written as it began; none where it has stayed there.
    private let present = Mutex<[SourceLocation: SourceLocation]>([:])

    /// Where something is written now. What is no part of it stays where it is.
    func now(_ source: SourceLocation) -> SourceLocation { present.withLock { $0[source] ?? source } }

    /// Takes note of where something is written from now on.
    ///
    /// - Parameter parts: the parts that may have moved, where they were as it began and where they are.
    func move(_ parts: [(from: SourceLocation, to: SourceLocation)]) {
        var places: [SourceLocation: SourceLocation] = [:]
        for part in parts where part.from != part.to { places[part.from] = part.to }
        // What was there before is let go of without the lock.
        present.withLock { swap(&$0, &places) }
    }
}

extension SystemDefinition {
    /// The parts of a system, where they are written in this definition and in another one of the same fingerprint, in which
    /// states, events and feedbacks may have another order. Linear in its size.
    func places(in other: SystemDefinition) -> [(from: SourceLocation, to: SourceLocation)] {
        var places = [(source, other.source)]
        func indices(_ names: [String]) -> [String: Int] {
            Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        }
        let feedbacks = indices(other.feedbacks.map(\.name))
        for feedback in self.feedbacks {
            guard let index = feedbacks[feedback.name] else { continue }
            places.append((feedback.source, other.feedbacks[index].source))
        }
        let (states, events) = (indices(other.states.map(\.name)), indices(other.events.map(\.name)))
        for (state, byEvent) in zip(self.states, rules) {
            guard let state = states[state.name] else { continue }
            for (event, rules) in zip(self.events, byEvent) {
                guard let event = events[event.name] else { continue }
                places += zip(rules, other.rules[state][event]).map { ($0.source, $1.source) }
            }
        }
        return places
    }
}
