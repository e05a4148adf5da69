import MediatorConfiguration

/// The treatment of the side effects of a system that run or wait at a reload. Each list contains the names of feedbacks,
/// sorted.
public struct FeedbackSteps: Sendable, Hashable {
    /// The feedbacks that mean the same. Their side effects continue.
    public var goingOn: [String] = []
    /// The feedbacks whose side effects end.
    public var ending: [String] = []
    /// The feedbacks whose running side effects finish. Their outcomes count, and the new definition begins with the next run.
    public var finishing: [String] = []
    /// The feedbacks whose running side effects make the host reject the reload.
    public var refusing: [String] = []
    /// The new or changed feedbacks for the state in which the system continues, or all for the state in which it begins. Their
    /// conditions may still exclude it.
    public var beginning: [String] = []

    /// Creates steps for a system without side effects.
    public init() {}

    /// Creates the steps for a system that ends, a system that begins, or a system that begins in place of another one.
    ///
    /// - Parameter state: The index of the state in which the new system begins; `nil` for its initial state.
    init(
        ending old: SystemDefinition? = nil, _ running: Plan.Running? = nil, beginning new: SystemDefinition? = nil,
        in state: Int? = nil
    ) {
        let kept = old?.feedbacks.filter { $0.onReload == .refuse }.map(\.name) ?? []
        for name in running?.feedbacks.sorted() ?? [] {
            if kept.contains(name) { refusing.append(name) } else { ending.append(name) }
        }
        guard let new else { return }
        let state = state ?? new.initialState.state
        beginning = new.feedbacks.filter { $0.selector.states.contains(state) }.map(\.name).sorted()
    }

    /// Creates the steps for a system that continues with another definition.
    ///
    /// - Parameter state: The index of its state in the old definition.
    init(
        of old: SystemDefinition, in state: Int, changedTo new: SystemDefinition, _ running: Plan.Running?
    ) {
        let unchanged = new.feedbacksUnchanged(since: old)
        let policies = Dictionary((new.feedbacks + old.feedbacks).map { ($0.name, $0.onReload) }) { first, _ in first }
        let atWork = Set(running?.feedbacks ?? [])
        for name in atWork.union(running?.waits ?? []).sorted() {
            if unchanged.contains(name) {
                goingOn.append(name)
                continue
            }
            // A feedback that an earlier reload has removed finishes still.
            switch atWork.contains(name) ? policies[name] ?? .finish : .end {
            case .finish: finishing.append(name)
            case .refuse: refusing.append(name)
            case .end: ending.append(name)
            }
        }
        let index = new.index(of: state, in: old)
        beginning = new.feedbacks.filter { feedback in
            !unchanged.contains(feedback.name) && !finishing.contains(feedback.name)
                && !refusing.contains(feedback.name) && index.map { feedback.selector.states.contains($0) } == true
        }.map(\.name).sorted()
    }
}

extension Plan {
    /// The running side effects that a reload must not end, such as `backup: copy`.
    public var refusals: [String] {
        systems.flatMap { step in step.feedbacks.refusing.map { "\(step.name): \($0)" } }
    }
}

extension LinkDefinition {
    /// The indices of the systems that the link joins.
    var systems: [Int] {
        if case .systemToSystem(let target, _, _) = form { [system, target] } else { [system] }
    }
}
