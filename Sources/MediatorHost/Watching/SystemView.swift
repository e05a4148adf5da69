import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// A watched system and its filter. Both follow the definition of the present state, which a reload may change.
final class SystemView: Sendable {
    private struct State {
        /// The definition for which the system was chosen, and that of the latest state. Both have the same states and events.
        var words: SystemDefinition?
        var definition: SystemDefinition?
        var chosen: (part: WatchedPart, filter: Host.WatchFilter)?
    }

    private let state: Mutex<State>

    init(_ part: WatchedPart, _ filter: @escaping Host.WatchFilter) {
        let words: SystemDefinition? = if case .system(let definition) = part { definition } else { nil }
        state = Mutex(State(words: words, chosen: (part, filter)))
    }

    /// Returns the part and its filter for a state; `nil` if the watch does not choose the system with its present definition.
    func chosen(
        for state: SystemState, by choose: (WatchedPart) -> Host.WatchFilter?
    ) -> (part: WatchedPart, filter: Host.WatchFilter)? {
        let definition = state.definition
        let (isSame, chosen) = self.state.withLock { view in
            if view.definition !== definition, view.words?.hasWords(of: definition) == true {
                view.definition = definition
            }
            return (view.definition === definition, view.chosen)
        }
        guard !isSame else { return chosen }
        let part = WatchedPart.system(definition)
        let new = choose(part).map { (part, $0) }
        self.state.withLock { $0 = State(words: definition, definition: definition, chosen: new) }
        return new
    }
}
