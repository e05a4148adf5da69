import MediatorConfiguration
import MediatorControl
import MediatorHost

extension PlanStep {
    /// The steps of a plan, in the words of the control interface.
    ///
    /// - Parameter withKept: whether also those by which something stays as it is.
    static func all(of plan: Plan, withKept: Bool) -> [PlanStep] {
        func told(_ kind: PartKind, _ steps: [Plan.LinkStep]) -> some Sequence<PlanStep> {
            steps.lazy.filter { withKept || $0.action != .keep }.map {
                PlanStep(kind: kind, name: $0.name, action: PlanAction($0.action), reason: $0.reason).with($0.changes)
            }
        }
        var steps =
            plan.systems.lazy.filter { withKept || $0.action != .keep }.map {
                PlanStep(
                    kind: .system, name: $0.name, action: PlanAction($0.action), reason: $0.reason,
                    feedbacks: FeedbackChanges($0.feedbacks)
                )
                .with($0.changes)
            } as [PlanStep]
        steps += plan.buses.lazy.filter { withKept || $0.action != .keep }.map {
            PlanStep(
                kind: .bus, name: $0.name, action: PlanAction($0.action),
                value: $0.value.map { $0 == .keep ? .keep : .initial }, reason: $0.reason
            ).with($0.changes)
        }
        steps += told(.link, plan.links)
        steps += told(.group, plan.groups)
        steps += told(.access, plan.access.map { [$0] } ?? [])
        steps += told(.limits, plan.limits.map { [$0] } ?? [])
        return steps
    }

    /// The same step with the parts in which the definition differs.
    private func with(_ changes: [DefinitionChange]) -> PlanStep {
        var step = self
        step.changes = changes.prefix(Self.mostChanges).map { PartChange($0) }
        step.moreChanges = changes.count - step.changes.count
        return step
    }
}

extension FeedbackChanges {
    fileprivate init?(_ steps: FeedbackSteps) {
        guard steps != FeedbackSteps() else { return nil }
        self.init(
            goingOn: steps.goingOn, ending: steps.ending, finishing: steps.finishing, refusing: steps.refusing,
            beginning: steps.beginning)
    }
}

extension PartChange {
    fileprivate init(_ change: DefinitionChange) {
        let kind: ChangeOfPart =
            switch change.kind {
            case .added: .added
            case .removed: .removed
            case .changed: .changed
            }
        self.init(
            part: change.part, change: kind, old: change.old.map { "\($0)" }, new: change.new.map { "\($0)" },
            oldValue: change.oldValue, newValue: change.newValue)
    }
}

extension PlanAction {
    init(_ action: Plan.SystemAction) {
        switch action {
        case .change: self = .change
        case .keep: self = .keep
        case .migrate: self = .migrate
        case .restart: self = .restart
        case .add: self = .add
        case .remove: self = .remove
        }
    }

    init(_ action: Plan.Action) {
        switch action {
        case .keep: self = .keep
        case .change: self = .change
        case .add: self = .add
        case .remove: self = .remove
        }
    }
}
