package import CommonExpression
package import FeedbackKit
package import MediatorConfiguration

/// A kind of systems whose states, events and parameters are Swift types: finds their fields, and turns their values into
/// those of a configuration and back.
package struct TypedKind<S: Sendable, E: Sendable, P: Sendable>: SystemImplementation {
    /// The parts of a system, and its transitions by the identities of their types, for showing them.
    package typealias Parts = (loop: LoopParts<S, E>, transitions: [TransitionDescription])

    package let kind: SystemKind
    private let states: RecordCodec<S>
    private let events: RecordCodec<E>
    private let parameters: @Sendable (Structure) throws -> P
    private let make: @Sendable (P) throws -> Parts
    /// What a type's identity is called here.
    private let names: [String: String]

    /// Finds out what the types have.
    ///
    /// - Throws: what about them cannot be found, naming the type and the field, or cannot be used in a configuration.
    private init(
        _ name: String, description: String?, parameters: P.Type, defaults: P?,
        states: () throws(KindError) -> RecordCodec<S>,
        events: () throws(KindError) -> RecordCodec<E>, names: [String: String] = [:],
        make: @escaping @Sendable (P) throws -> Parts
    ) throws(KindError) where P: Codable {
        var flaws = KindError.Collector()
        do {
            let found = (flaws.attempt(states), flaws.attempt(events))
            let given = flaws.attempt { () throws(KindError) in
                let coded = try Self.fields(parameters)
                guard let defaults else { return (coded, nil as [Value]?) }
                return (coded, try Self.values(of: defaults, coded))
            }
            guard case (let states?, let events?) = found, let (coded, values) = given else {
                try flaws.check()
                preconditionFailure("what is missing has a flaw")
            }
            self.states = states
            self.events = events
            self.parameters = { structure in
                try ValueDecoder().decode(P.self, from: Shape.lowered(coded, structure.fields))
            }
            kind = SystemKind(
                name: name, description: description,
                parameters: coded.enumerated().map { index, field in
                    SystemKind.Parameter(field: SystemKind.Field(field), default: values?[index])
                },
                states: states.entries.map(\.record), events: events.entries.map(\.record))
            for flaw in kind.flaws { flaws.add(flaw) }
            for field in (kind.states + kind.events).flatMap(\.fields) + kind.parameters.map(\.field)
            where !field.type.isWritable {
                flaws.add("the field '\(field.name)' is of a type that lies too deep")
            }
            try flaws.check()
        } catch {
            throw KindError(error, in: "the kind '\(name)'")
        }
        self.names = names
        self.make = make
    }

    private static func fields(_ type: P.Type) throws(KindError) -> [Shape.Field] where P: Codable {
        do {
            if let fields = try ShapeRecorder.fields(of: type) { return fields }
        } catch {
            throw KindError(error, in: "the parameters \(type)")
        }
        throw KindError("the parameters \(type): it is no structure with fields")
    }

    private static func values(of defaults: P, _ fields: [Shape.Field]) throws(KindError) -> [Value] where P: Codable {
        if fields.isEmpty { return [] }
        do {
            guard case .map(let entries) = try ValueEncoder().encode(defaults) else {
                throw KindError("they encode no fields")
            }
            return try Shape.raised(fields, entries)
        } catch {
            throw KindError(error, in: "the defaults of the parameters")
        }
    }

    package func makeBehaviour(of instance: KindInstance) throws -> SystemBehaviour {
        let given: P
        do {
            given = try parameters(instance.parameters)
        } catch {
            throw KindError(error, in: "its parameters cannot be read")
        }
        let made = try make(given)
        let first = try snapshot(made.loop.initial)
        let (feedbacks, outlines) = named(made.loop.feedbacks)
        let reduce = made.loop.reduce
        let emitted = EmittedEvents()
        return SystemBehaviour(
            initial: first,
            reduce: { state, event, now, report in self.reduce(&state, event, reduce, now, report) },
            makeFeedbacks: { report in feedbacks.map { hosted($0, report, emitted) } },
            executor: Self.place(of: made.loop), outlines: outlines, emitted: emitted,
            transitions: made.transitions.map { (name($0.from), name($0.event), name($0.to)) },
            adopt: { state in
                guard let value = try? states.decode(state.index, state.data) else { return nil }
                return state.with(original: Original(value))
            })
    }

    /// The executor of a system that was made of a loop. A loop of the sender's thread gets the shared pool: its sender may be a
    /// configured system, whose turns must not block, and the code of a kind may block.
    private static func place(of loop: LoopParts<S, E>) -> any LoopExecutor {
        loop.executor is SendersThread ? SharedPool() : loop.executor
    }

    // MARK: The loop

    /// A Swift value behind a reference, so that a state or event stays small.
    private final class Original<Whole: Sendable>: Sendable {
        let value: Whole
        init(_ value: Whole) { self.value = value }
    }

    /// Why an event that was emitted is none of the configuration's.
    private final class Stranger: Sendable {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private func snapshot(_ value: S) throws(KindError) -> SystemBehaviour.Snapshot {
        let (index, data) = try states.encode(value)
        return SystemBehaviour.Snapshot(index: index, data: data, original: Original(value))
    }

    /// The Swift value of a state, which every state of the system has.
    private func value(_ state: SystemState) -> S? { (state.original as? Original<S>)?.value }

    /// The Swift value of an event: the one that was emitted, or one made of what a link, a client or the configuration
    /// has sent.
    private func value(_ event: SystemEvent) throws(KindError) -> E {
        if let original = event.original as? Original<E> { return original.value }
        if let stranger = event.original as? Stranger { throw KindError(stranger.reason) }
        return try events.decode(event.index, event.data)
    }

    /// What an event of a feedback is to the host. One that the configuration does not know is passed on as such, so that
    /// the loop tells of it.
    private func event(_ value: E) -> SystemEvent {
        do throws(KindError) {
            let (index, data) = try events.encode(value)
            return SystemEvent(index: index, data: data, original: Original(value), cause: nil)
        } catch {
            return SystemEvent(index: -1, data: .null, original: Stranger(error.description), cause: nil)
        }
    }

    /// A reduction. What cannot be turned into the other's values is a fault, and nothing changes.
    private func reduce(
        _ state: inout SystemState, _ event: SystemEvent, _ reduce: @Sendable (inout S, E) -> Reduction,
        _ now: () -> Timestamp, _ report: (Fault) -> Void
    ) -> Reduction {
        var place = "event"
        do throws(KindError) {
            guard var new = value(state) else { throw KindError("the state is none of the kind's") }
            let cause = try value(event)
            place = "transition from \(states.entries[state.index].record.name)"
            let reduction = reduce(&new, cause)
            guard reduction == .handled else { return reduction }
            let made = try snapshot(new)
            state = state.entering(
                made.index, made.data, ofSize: SystemEvent.size(of: made.data), at: now(), on: event,
                original: made.original)
            return .handled
        } catch {
            report(Fault("\(place), kind \(kind.name)", message: error.description))
            return .stay
        }
    }

    /// A feedback in the loop of the host.
    private func hosted(
        _ feedback: Feedback<S, E>, _ report: @escaping @Sendable (Fault) -> Void, _ emitted: EmittedEvents
    ) -> Feedback<SystemState, SystemEvent> {
        feedback.reportingErrors { [name = kind.name] feedback, error in
            report(Fault("feedback \(feedback), kind \(name)", message: "\(error)"))
        }.pullback(state: { value($0) }, embed: { event($0) }, extract: { try? value($0) }).tellingCauses(emitted)
    }

    // MARK: Names

    private func name(_ identity: String) -> String { names[identity] ?? identity }

    /// The feedbacks with names of their own, and what is shown of them.
    private func named(
        _ feedbacks: [Feedback<S, E>]
    ) -> (feedbacks: [Feedback<S, E>], outlines: [SystemBehaviour.Outline]) {
        var counts: [String: Int] = [:]
        var outlines: [SystemBehaviour.Outline] = []
        let named = feedbacks.enumerated().map { index, feedback in
            var feedback = feedback
            let label = feedback.name.hasPrefix("on ") ? String(feedback.name.dropFirst(3)) : ""
            let onState = names[label]
            var name = onState.map { "on \($0)" } ?? feedback.name
            if name.isEmpty { name = "feedback" }
            counts[name, default: 0] += 1
            if let count = counts[name], count > 1 { name += " (\(count))" }
            feedback.name = name
            outlines.append(
                SystemBehaviour.Outline(
                    name: name, onState: onState ?? "any",
                    strategy: feedback.endsOnNewState ? .cancelOnNewState : .continueOnNewState))
            return feedback
        }
        return (named, outlines)
    }
}

extension TypedKind where S == any State, E == any Event {
    /// A kind whose instances are systems of the declarative dialect.
    ///
    /// - Parameters:
    ///   - name: what configurations call it.
    ///   - description: what it is for.
    ///   - parameters: what an instance is given.
    ///   - defaults: the values of those that a configuration does not say; `nil`: it must say all that are not optional.
    ///   - states: the types of state.
    ///   - events: the types of event that links and others may send, and feedbacks emit.
    ///   - make: makes a system, which is taken apart.
    package static func system(
        _ name: String, description: String?, parameters: P.Type, defaults: P?, states: [any (State & Codable).Type],
        events: [any (Event & Codable).Type], make: @escaping @Sendable (P) throws -> System
    ) throws(KindError) -> TypedKind where P: Codable {
        let names =
            states.map { ($0.identity, shortName($0.identity, of: $0)) }
            + events.map { ($0.identity, shortName($0.identity, of: $0)) }
        return try TypedKind(
            name, description: description, parameters: parameters, defaults: defaults,
            states: { () throws(KindError) in try .states(states) },
            events: { () throws(KindError) in try .events(events) },
            names: Dictionary(names) { first, _ in first }
        ) { parameters in
            let system = try make(parameters)
            guard let parts = system.loop.parts else { throw KindError("the system has been started already") }
            return (parts, system.transitions.descriptions)
        }
    }
}

extension TypedKind where S == any State, E == any Event {
    /// A state as a configuration knows it, and the same made of that again.
    package static func roundTrip<T: State & Codable>(_ state: T) throws(KindError) -> (data: Value, again: any State) {
        let codec = try RecordCodec<any State>.states([T.self])
        let (index, data) = try codec.encode(state)
        return (data, try codec.decode(index, data))
    }
}

extension TypedKind where S: Codable, E: Codable {
    /// A kind whose instances are typed loops.
    ///
    /// The parameters are those of `system(…)`; each case of an enumeration is a state or event, and any other type is one.
    package static func loop(
        _ name: String, description: String?, parameters: P.Type, defaults: P?,
        make: @escaping @Sendable (P) throws -> Loop<S, E>
    ) throws(KindError) -> TypedKind where P: Codable {
        try TypedKind(
            name, description: description, parameters: parameters, defaults: defaults,
            states: { () throws(KindError) in try .whole(S.self, noun: "state") },
            events: { () throws(KindError) in try .whole(E.self, noun: "event") }
        ) { parameters in
            guard let parts = try make(parameters).parts else { throw KindError("the loop has been started already") }
            return (parts, [])
        }
    }
}
