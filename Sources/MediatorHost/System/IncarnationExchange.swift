import FeedbackKit
import MediatorConfiguration
import Synchronization

// The exchange of the definition while the loop runs.
extension Incarnation {
    /// Goes on with another definition, between two events.
    ///
    /// A feedback that means the same keeps its runner, with all that runs and waits. The runs of one that is changed or
    /// removed end or finish, as it says, and those of the new one begin when they are over.
    ///
    /// - Parameters:
    ///   - inputs: The events that set its inputs to their present values.
    ///   - unchanged: The names of the feedbacks that mean the same.
    ///   - willShow: A function that is called during the activation with the new state, before new feedbacks see that
    ///     state.
    ///   - didShow: A function that is called after the new feedbacks have seen the state.
    ///   - ended: A function that is called instead if the loop ends before.
    func exchange(
        to design: HostedSystem.Design, with inputs: [SystemEvent], unchanged: Set<String>,
        willShow: @escaping @Sendable (SystemState) -> Void,
        didShow: @escaping @Sendable (SystemState) -> Void, ended: @escaping @Sendable () -> Void
    ) {
        loop.exchange(
            { [self] state in
                let definition = design.definition
                var new = state.exchanged(for: definition, at: time.now())
                if definition.hasLevels {
                    new = AlwaysMachine.goOn(new, from: state.definition, inputs, now: time.now, report: report)
                }
                let isSame = new.record.isCarriedOver
                let before = runners.withLock { $0 }
                // One look for all decisions, because a run may begin at any time.
                let atWork = Set(before.all.filter(\.runner.isAtWork).map { ObjectIdentifier($0.runner) })
                var after = Runners()
                var parts: [LoopExchange<SystemState, SystemEvent>.Part] = []
                for (index, figures) in zip(definition.feedbacks.indices, design.figures) {
                    let program = FeedbackProgram(index, of: definition)
                    let feedback = program.feedback
                    let old = before.present.first { $0.runner.definition.name == feedback.name }
                    if let old, isSame, unchanged.contains(feedback.name) {
                        old.runner.present.become(program)
                        after.present.append(old)
                        parts.append(.kept(slot: old.slot, by: Self.feedback(program, old.runner)))
                        continue
                    }
                    let earlier = before.all.filter { $0.runner.definition.name == feedback.name }.map(\.runner)
                    let runner = makeRunner(program, figures, earlier.map(\.gate))
                    after.present.append((runner, -1))
                    let isAtWork = earlier.contains { atWork.contains(ObjectIdentifier($0)) }
                    let finishes = feedback.onReload != .end && isAtWork
                    parts.append(.new(Self.feedback(program, runner), seesState: !finishes))
                }
                var finishing: Set<Int> = []
                for old in before.all where !after.present.contains(where: { $0.runner === old.runner }) {
                    let feedback = definition.feedbacks.first { $0.name == old.runner.definition.name }
                    let policy = (feedback ?? old.runner.definition).onReload
                    let finishes = policy != .end && atWork.contains(ObjectIdentifier(old.runner))
                    if finishes { finishing.insert(old.slot) }
                    old.runner.retire(finishes: finishes)
                    if old.runner.gate.isInUse { after.leaving.append(old) }
                }
                parts.append(.kept(slot: slotOfLinks, by: links))
                // The waits of the old one end. They go on in the new one, from the time at which they began.
                if definition.hasHolds { parts += holds.feedback.parts().map { .new($0, seesState: true) } }
                held.become(new.record.roughSize)
                commits?.exchange(to: new)
                let (next, shown, isNews) = (after, new, !isSame)
                var exchange = LoopExchange(
                    state: new, parts: parts, finishing: finishing, limit: definition.mailbox.limit,
                    overflow: Overflow(definition.mailbox.overflow),
                    willShow: { [self] slots in
                        runners.withLock { runners in
                            runners = next
                            for index in next.present.indices { runners.present[index].slot = slots[index] }
                        }
                        willShow(shown)
                    },
                    didShow: { [weak loop] in
                        didShow(shown)
                        guard !definition.always.isEmpty else { return }
                        loop?.whenDue({ .recheck }, ended: {})
                    })
                exchange.isNews = isNews
                return exchange
            }, ended: ended)
    }
}
