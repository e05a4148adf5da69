public import FeedbackKit
import MediatorConfiguration
package import MediatorHost

/// A kind of systems written in Swift, of which the configuration of a daemon can make instances.
///
///     DaemonCommand.launch(kinds: [
///         .system(
///             "speaker", parameters: SpeakerParameters.self, states: [VolumeState.self],
///             events: [IncreaseEvent.self, DecreaseEvent.self]
///         ) { parameters in
///             System { … }
///         }
///     ])
///
/// Configuration then says `kind: speaker` and `with: { target: 15 }`, and links, checks and shows the instance like any
/// other system.
///
/// The fields of states, events and parameters are found by decoding their types. They may have the types of
/// configurations: `Bool`, integers, `Double` and `Float`, `String`, `Date`, `Duration`, arrays, dictionaries with
/// `String` keys, optional values, and structures of these. They may also be enumerations that are `CaseIterable` with
/// raw values, whose words are known too. Any other type is an error at the launch, which names the type and the field.
///
/// The host takes the returned system apart: its initial state, reducer or transitions, feedbacks and executors become
/// those of a loop of the host. The system must not have been started, and nobody else can send to it. The clock,
/// mailbox and observer are the host's. An error that a side effect throws is a fault of the system, which goes on. An
/// event whose type was not declared, and a transition to a state of such a type, are faults too, and change nothing.
public struct DaemonKind: Sendable {
    /// The name in configurations.
    public let name: String
    private let make: @Sendable () throws(KindError) -> any SystemImplementation

    private init(_ name: String, _ make: @escaping @Sendable () throws(KindError) -> any SystemImplementation) {
        self.name = name
        self.make = make
    }

    /// The definition for a host.
    ///
    /// - Throws: what about its types cannot be used in a configuration.
    package func implementation() throws(KindError) -> any SystemImplementation { try make() }

    /// The parameters of a kind that has none.
    private struct NoParameters: Codable {}
}

// MARK: Systems

extension DaemonKind {
    /// A kind whose instances are a ``FeedbackKit/System`` each.
    ///
    /// Each type of state becomes a state of the configuration, and each type of event an event. They are named after
    /// the types without their modules, or after their own identities.
    ///
    /// - Parameters:
    ///   - name: what configurations call it: a letter, then letters, digits, `.`, `_`, `-`.
    ///   - description: the purpose of the kind, in a few words.
    ///   - parameters: what an instance is given.
    ///   - defaults: the values of the parameters that a configuration does not say; without it, it must say all of them
    ///     but optional ones.
    ///   - states: every type of state that a system of this kind may be in.
    ///   - events: every type of event that it knows.
    ///   - make: makes a system, or throws to refuse its parameters. It is called for each instance that begins: at the
    ///     start, at each reload that changes it (even if that is then rejected), by each plan of one, by `--validate`, and
    ///     by each search for loops of links. It must have no other effect.
    public static func system<P: Codable & Sendable>(
        _ name: String, description: String? = nil, parameters: P.Type, defaults: P? = nil,
        states: [any (State & Codable).Type], events: [any (Event & Codable).Type],
        _ make: @escaping @Sendable (P) throws -> System
    ) -> DaemonKind {
        DaemonKind(name) { () throws(KindError) in
            try TypedKind<any State, any Event, P>.system(
                name, description: description, parameters: parameters, defaults: defaults, states: states,
                events: events, make: make)
        }
    }

    /// The same, for systems that need no parameters.
    public static func system(
        _ name: String, description: String? = nil, states: [any (State & Codable).Type],
        events: [any (Event & Codable).Type], _ make: @escaping @Sendable () throws -> System
    ) -> DaemonKind {
        system(name, description: description, parameters: NoParameters.self, states: states, events: events) { _ in
            try make()
        }
    }
}

// MARK: Typed loops

extension DaemonKind {
    /// A kind whose instances are a ``FeedbackKit/Loop`` each.
    ///
    /// An enumeration is `CaseIterable`, with a value of each case in `allCases`: then each case is a state, or an event,
    /// of the configuration, with its associated values as fields. Any other type is one state or event of its name.
    ///
    /// - Parameters:
    ///   - name: what configurations call it: a letter, then letters, digits, `.`, `_`, `-`.
    ///   - description: the purpose of the kind, in a few words.
    ///   - parameters: what an instance is given.
    ///   - defaults: the values of the parameters that a configuration does not say; without it, it must say all of them
    ///     but optional ones.
    ///   - state: the loop's state.
    ///   - event: the loop's event.
    ///   - make: makes a loop, or throws to refuse its parameters. It is called for each instance that begins: at the
    ///     start, at each reload that changes it (even if that is then rejected), by each plan of one, by `--validate`, and
    ///     by each search for loops of links. It must have no other effect.
    public static func loop<P: Codable & Sendable, S: Codable & Sendable, E: Codable & Sendable>(
        _ name: String, description: String? = nil, parameters: P.Type, defaults: P? = nil, state: S.Type,
        event: E.Type, _ make: @escaping @Sendable (P) throws -> Loop<S, E>
    ) -> DaemonKind {
        DaemonKind(name) { () throws(KindError) in
            try TypedKind<S, E, P>.loop(
                name, description: description, parameters: parameters, defaults: defaults, make: make)
        }
    }

    /// The same, for what `system(initial:reduce:feedbacks:)` describes.
    public static func loop<P: Codable & Sendable, S: Codable & Sendable, E: Codable & Sendable>(
        _ name: String, description: String? = nil, parameters: P.Type, defaults: P? = nil, state: S.Type,
        event: E.Type, _ make: @escaping @Sendable (P) throws -> StateSequence<S, E>
    ) -> DaemonKind {
        loop(name, description: description, parameters: parameters, defaults: defaults, state: state, event: event) {
            try make($0).makeLoop()
        }
    }

    /// The same, for loops that need no parameters.
    public static func loop<S: Codable & Sendable, E: Codable & Sendable>(
        _ name: String, description: String? = nil, state: S.Type, event: E.Type,
        _ make: @escaping @Sendable () throws -> Loop<S, E>
    ) -> DaemonKind {
        loop(name, description: description, parameters: NoParameters.self, state: state, event: event) { _ in
            try make()
        }
    }

    /// The same, for what `system(initial:reduce:feedbacks:)` describes, without parameters.
    public static func loop<S: Codable & Sendable, E: Codable & Sendable>(
        _ name: String, description: String? = nil, state: S.Type, event: E.Type,
        _ make: @escaping @Sendable () throws -> StateSequence<S, E>
    ) -> DaemonKind {
        loop(name, description: description, parameters: NoParameters.self, state: state, event: event) { _ in
            try make().makeLoop()
        }
    }
}

extension SystemCatalogue {
    /// The catalogue of some kinds.
    ///
    /// - Throws: everything that is wrong with them, a line each.
    package static func of(_ kinds: [DaemonKind]) throws(KindError) -> SystemCatalogue {
        var flaws = KindError.Collector()
        var implementations: [any SystemImplementation] = []
        var names: Set<String> = []
        for kind in kinds {
            if !names.insert(kind.name).inserted { flaws.add("two kinds have the name '\(kind.name)'") }
            flaws.attempt { () throws(KindError) in try kind.implementation() }.map { implementations.append($0) }
        }
        try flaws.check()
        return SystemCatalogue(implementations)
    }
}
