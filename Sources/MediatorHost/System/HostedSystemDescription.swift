import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The description of a system, and its saved state.
extension HostedSystem {
    /// The behaviour of the present incarnation.
    var behaviour: SystemBehaviour { incarnation.behaviour }

    /// Returns a definition that is complete for a system written in Swift. It adds the initial state, the transitions
    /// and the own feedbacks, which only the running system knows.
    func described(_ definition: SystemDefinition) -> SystemDefinition {
        guard definition.kind != nil else { return definition }
        let behaviour = incarnation.behaviour
        let source = definition.source
        let transitions = behaviour.transitions.map {
            WrittenTransition(from: $0.from, event: $0.event, to: $0.to, source: source)
        }
        let own = behaviour.outlines.map { outline in
            FeedbackDefinition(
                name: outline.name, source: source,
                selector: StateSelector(states: [], equals: [], conditions: [:], text: outline.onState),
                strategy: outline.strategy, schedule: .atOnce, effect: "Swift", arguments: [:], outcomes: [:],
                secretArguments: [])
        }
        return definition.replacing(
            description: definition.description, source: source,
            initialState: StateProgram(state: behaviour.initial.index, fields: []),
            feedbacks: own + definition.feedbacks, transitions: transitions)
    }

    /// Sets the initial state to the last state of a predecessor. Returns `false` if the system cannot be in that state
    /// or has been started.
    func migrate(from old: HostedSystem) -> Bool {
        let incarnation = incarnation
        guard let state = old.loop.state.fitted(to: definition, at: time.now()),
            let adopted = incarnation.behaviour.adopt(state)
        else { return false }
        if let heard = old.incarnation.commits?.heardByState { incarnation.commits?.goesOn(hearing: heard) }
        return incarnation.loop.setInitial(adopted)
    }

    /// The outcome of a start in an earlier state.
    enum Beginning {
        case same
        /// The state has become one of the present definition, with these differences.
        case converted(String)
        /// The system begins in its initial state, for a reason as a clause.
        case refused(String)
    }

    /// Sets the initial state to the one in which the system was when the daemon ended.
    ///
    /// - Parameters:
    ///   - part: The stored details of the state, if it was persisted.
    ///   - now: The present time.
    func begin(in earlier: HostState.System, _ part: SavedParts.Part? = nil, at now: Timestamp) -> Beginning {
        let kept: HostState.System
        let fit: StateFit
        do throws(StateFit.Misfit) {
            (kept, fit) = try earlier.fitted(to: definition)
        } catch {
            return .refused(error.text("was"))
        }
        let incarnation = incarnation
        let state = SystemState(
            beginning: definition, in: fit.state, .structure(Structure(type: kept.state, fields: kept.fields)),
            since: kept.since, serial: part?.details.serial ?? 1,
            because: Cause(Cause.BeginningOrigin(.restored(isStored: part?.isFromJournal == true)), at: now))
        guard let adopted = incarnation.behaviour.adopt(state), incarnation.loop.setInitial(adopted) else {
            return .refused("it cannot be in the state '\(earlier.state.name)' in which it was")
        }
        let changes = [part?.was.map { "its name was '\($0)'" }, fit.text].compactMap(\.self)
        if var part {
            // The journal has the state before the conversion.
            part.isStored = part.isStored && fit.text == nil
            incarnation.commits?.goesOn(in: adopted, part)
        }
        return changes.isEmpty ? .same : .converted(changes.joined(separator: ", "))
    }

    /// Notes in the cause of the initial state that an earlier state is not used.
    ///
    /// - Parameters:
    ///   - what: The earlier state, in words.
    ///   - reason: The reason as a clause.
    func tellUnused(_ what: String, because reason: String) {
        let loop = incarnation.loop
        let state = loop.state
        let origin = Cause.BeginningOrigin(.startAnew("\(what) was not used: \(reason)"))
        _ = loop.setInitial(
            SystemState(
                beginning: definition, in: state.index, state.data, since: state.since, serial: state.serial,
                because: Cause(origin, at: state.since), original: state.original))
    }

    /// The state to save for the next start of the daemon, or `nil` if the system did not run or has failed.
    ///
    /// It is the present state, or the last one before the end for good. Before the start, it is the state to carry over.
    var kept: HostState.System? {
        let (phase, incarnation, predecessor) = status.withLock {
            ($0.left ?? $0.phase, $0.incarnation, $0.predecessor)
        }
        if phase == .built, let kept = try? predecessor?.kept?.fitted(to: definition) { return kept.state }
        let loop = incarnation.loop
        guard phase == .running, loop.fault == nil else { return nil }
        return HostState.System(loop.state)
    }
}
