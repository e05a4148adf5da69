package import CommonExpression
package import FeedbackKit
package import MediatorConfiguration

/// A kind of systems whose states, events and parameters are Swift types. It finds their fields, and converts their
/// values to values of a configuration and back.
package struct TypedKind<S: Sendable, E: Sendable, P: Sendable>: SystemImplementation {
    /// The parts of a system, and its transitions by the identities of their types. `isTable` is true if it makes no other
    /// transitions than these.
    package typealias Parts = (loop: LoopParts<S, E>, transitions: [TransitionDescription], isTable: Bool)

    /// The kind without its ``moves(of:)``.
    let plain: SystemKind
    private let states: RecordCodec<S>
    private let events: RecordCodec<E>
    private let parameters: @Sendable (Structure) throws -> P
    private let make: @Sendable (P) throws -> Parts
    /// The names of the types in configurations, by identity.
    private let names: [String: String]

    /// Creates a kind from the fields of its types.
    ///
    /// - Throws: The types and fields that cannot be examined, or cannot be used in a configuration.
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
            plain = SystemKind(
                name: name, description: description,
                parameters: coded.enumerated().map { index, field in
                    SystemKind.Parameter(field: SystemKind.Field(field), default: values?[index])
                },
                states: states.entries.map(\.record), events: events.entries.map(\.record))
            for flaw in plain.flaws { flaws.add(flaw) }
            for field in (plain.states + plain.events).flatMap(\.fields) + plain.parameters.map(\.field)
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

    /// The name, parameters, states and events of the kind.
    package var kind: SystemKind {
        var kind = plain
        kind.inspection = KindInspection { moves(of: $0) }
        return kind
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

    /// Returns the parts of an instance, and starts nothing.
    func parts(of instance: KindInstance) throws -> Parts {
        let given: P
        do {
            given = try parameters(instance.parameters)
        } catch {
            throw KindError(error, in: "its parameters cannot be read")
        }
        return try make(given)
    }

    /// Returns the behaviour of an instance, and starts nothing.
    package func makeBehaviour(of instance: KindInstance) throws -> SystemBehaviour {
        let made = try parts(of: instance)
        let first = try snapshot(made.loop.initial)
        let (feedbacks, outlines) = named(made.loop.feedbacks)
        let reduce = made.loop.reduce
        let emitted = EmittedEvents()
        return SystemBehaviour(
            initial: first,
            reduce: { state, event, now, report in self.reduce(&state, event, reduce, now, report) },
            makeFeedbacks: { report in feedbacks.map { hosted($0, report, emitted) } },
            executor: Self.place(of: made.loop), outlines: outlines, emitted: emitted,
            transitions: made.transitions.map {
                (name($0.from), name($0.event), $0.isUpdate ? WrittenTransition.inPlace : name($0.to))
            },
            adopt: { state in
                guard let value = try? states.decode(state.index, state.data) else { return nil }
                return state.with(original: Original(value))
            })
    }

    /// Returns the executor of a system that was made from a loop. A loop on the thread of its sender gets the shared
    /// pool instead. The sender may be a configured system, whose activations must not block, and the code of a kind
    /// may block.
    private static func place(of loop: LoopParts<S, E>) -> any LoopExecutor {
        loop.executor is SendersThread ? SharedPool() : loop.executor
    }

    // MARK: The loop

    /// A reference to a Swift value, so that a state or event stays small.
    private final class Original<Whole: Sendable>: Sendable {
        let value: Whole
        init(_ value: Whole) { self.value = value }
    }

    /// The reason why the configuration does not have an emitted event.
    private final class Stranger: Sendable {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private func snapshot(_ value: S) throws(KindError) -> SystemBehaviour.Snapshot {
        let (index, data) = try states.encode(value)
        return SystemBehaviour.Snapshot(index: index, data: data, original: Original(value))
    }

    /// Returns the Swift value of a state. Every state of the system has one.
    private func value(_ state: SystemState) -> S? { (state.original as? Original<S>)?.value }

    /// Returns the Swift value of an event: the emitted value, or one decoded from the data of a link, a client or
    /// the configuration.
    private func value(_ event: SystemEvent) throws(KindError) -> E {
        if let original = event.original as? Original<E> { return original.value }
        if let stranger = event.original as? Stranger { throw KindError(stranger.reason) }
        return try events.decode(event.index, event.data)
    }

    /// Returns the event of the host for an event of a feedback. An event that the configuration does not have is
    /// passed on, so that the loop reports it.
    private func event(_ value: E) -> SystemEvent {
        do throws(KindError) {
            let (index, data) = try events.encode(value)
            return SystemEvent(index: index, data: data, original: Original(value), cause: nil)
        } catch {
            return SystemEvent(index: -1, data: .null, original: Stranger(error.description), cause: nil)
        }
    }

    /// Reduces a state. A value that cannot be converted is a fault, and nothing changes.
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
            guard reduction == .handled || reduction == .updated else { return reduction }
            let made = try snapshot(new)
            if reduction == .updated, made.index == state.index {
                state = state.updated(
                    made.data, ofSize: SystemEvent.size(of: made.data), at: now(), on: event, original: made.original)
                return .updated
            }
            state = state.entering(
                made.index, made.data, ofSize: SystemEvent.size(of: made.data), at: now(), on: event,
                original: made.original)
            return .handled
        } catch {
            report(
                Fault(
                    part: "\(place), kind \(plain.name)", message: error.description,
                    condition: .rule(state.definition.eventName(event))))
            return .stay
        }
    }

    /// Returns a feedback in the form that the loop of the host runs.
    private func hosted(
        _ feedback: Feedback<S, E>, _ report: @escaping @Sendable (Fault) -> Void, _ emitted: EmittedEvents
    ) -> Feedback<SystemState, SystemEvent> {
        feedback.reportingErrors { [name = plain.name] feedback, error in
            let part = Conditions.Source.ownFeedback + feedback
            report(Fault(part: "\(part), kind \(name)", message: "\(error)", condition: .rule(part)))
        }.pullback(state: { value($0) }, embed: { event($0) }, extract: { try? value($0) }).tellingCauses(emitted)
    }

    // MARK: Names

    func name(_ identity: String) -> String { names[identity] ?? identity }

    /// Returns the feedbacks with unique names, and their descriptions for display.
    private func named(
        _ feedbacks: [Feedback<S, E>]
    ) -> (feedbacks: [Feedback<S, E>], outlines: [SystemBehaviour.Outline]) {
        var counts: [String: Int] = [:]
        var outlines: [SystemBehaviour.Outline] = []
        let named = feedbacks.enumerated().map { index, feedback in
            var feedback = feedback
            let identity = feedback.stateIdentity
            let onState = identity.map { self.name($0) }
            var name = feedback.name
            if let identity, let onState, name == "on \(identity)" { name = "on \(onState)" }
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
    /// Returns a kind whose instances are systems of the declarative dialect.
    ///
    /// - Parameters:
    ///   - name: The name of the kind in configurations.
    ///   - description: The purpose of the kind.
    ///   - parameters: The type of the parameters of an instance.
    ///   - defaults: The values of the parameters that a configuration omits. With `nil`, a configuration must set
    ///     all that are not optional.
    ///   - states: The types of state.
    ///   - events: The types of event that links and others may send and that feedbacks emit.
    ///   - make: The function that makes a system, from which the kind takes the parts.
    package static func system(
        _ name: String, description: String?, parameters: P.Type, defaults: P?, states: [any (State & Codable).Type],
        events: [any (Event & Codable).Type], make: @escaping @Sendable (P) throws -> System
    ) throws(KindError) -> TypedKind where P: Codable {
        let names =
            states.map { ($0.identity, shortName($0.identity, of: $0)) }
            + events.map { ($0.identity, shortName($0.identity, of: $0)) }
        // A rule for a class is also one for its subclasses, which have other names.
        let isTable = !states.contains { $0 is AnyClass }
        return try TypedKind(
            name, description: description, parameters: parameters, defaults: defaults,
            states: { () throws(KindError) in try .states(states) },
            events: { () throws(KindError) in try .events(events) },
            names: Dictionary(names) { first, _ in first }
        ) { parameters in
            let system = try make(parameters)
            guard let parts = system.loop.parts else { throw KindError("the system has been started already") }
            return (parts, system.transitions.descriptions, isTable)
        }
    }
}

extension TypedKind where S == any State, E == any Event {
    /// Returns a state as data of a configuration, and the state that is decoded from that data.
    package static func roundTrip<T: State & Codable>(_ state: T) throws(KindError) -> (data: Value, again: any State) {
        let codec = try RecordCodec<any State>.states([T.self])
        let (index, data) = try codec.encode(state)
        return (data, try codec.decode(index, data))
    }
}

extension TypedKind where S: Codable, E: Codable {
    /// Returns a kind whose instances are typed loops.
    ///
    /// The parameters are those of `system(…)`. Each case of a `CaseIterable` enumeration is a state or event, and
    /// any other type is a single one.
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
            return (parts, [], false)
        }
    }
}
