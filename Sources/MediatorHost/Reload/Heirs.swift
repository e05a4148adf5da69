import MediatorConfiguration

// Systems under new names, which go on from the states that they had under earlier names.
extension Plan {
    /// A system under a new name.
    package struct Rename: Sendable, Hashable {
        /// The earlier name.
        package let was: String
        /// The new name.
        package let name: String
        /// The reason why the state is not carried over, as a clause; `nil` if it is.
        package let misfit: String?
    }

    /// Notes the systems under new names, and gives their steps and those of their earlier names the reason.
    mutating func noteRenames(_ old: Graph, _ running: (String) -> Running?, _ new: Graph) {
        let renamed = new.systems.filter { $0.was != nil }
        if renamed.isEmpty { return }
        let before = Dictionary(old.systems.map { ($0.name, $0) }) { first, _ in first }
        let steps = Dictionary(systems.enumerated().map { ($1.name, $0) }) { first, _ in first }
        for after in renamed {
            guard let was = after.was, let old = before[was], let removed = steps[was], let added = steps[after.name],
                systems[removed].action == .remove, systems[added].action == .add
            else { continue }
            systems[removed].reason = "it is '\(after.name)' now"
            let running = running(was)
            let state = running.map { $0.state } ?? old.initialState.state
            var misfit: String?
            if running?.hasFailed == true {
                misfit = "it does not run, on account of a fault"
            } else if let state {
                do throws(StateFit.Misfit) {
                    let fit = try StateFit(old.states[state].type, in: after)
                    systems[added].reason =
                        "it goes on in the state '\(old.states[state].name)' of '\(was)', its earlier name"
                        + (fit.text.map { ": \($0)" } ?? "") + (running?.lost ?? "")
                    systems[added].feedbacks = FeedbackSteps(beginning: after, in: fit.state)
                } catch {
                    misfit = error.text("is")
                }
            } else {
                misfit = "it is in a state of another configuration"
            }
            if let misfit {
                systems[added].reason = "the state of '\(was)', its earlier name, is not carried over: \(misfit)"
            }
            renames.append(Rename(was: was, name: after.name, misfit: misfit))
        }
    }
}
