import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// The speaker of the Feedbacks documentation.
struct VolumeState: State, Codable { let value: Int }
struct MutedState: State, Codable {}
/// A state that no kind is declared with.
struct BrokenState: State, Codable {}
struct IncreaseEvent: Event, Codable {}
struct DecreaseEvent: Event, Codable {}
struct MuteEvent: Event, Codable {}
struct SetEvent: Event, Codable {
    enum Source: String, Codable, CaseIterable { case knob, remote }
    let value: Int
    let source: Source?
}
struct BreakEvent: Event, Codable {}
/// An event that no kind is declared with.
struct SecretEvent: Event, Codable {}

struct SpeakerParameters: Codable {
    var target = 15
    var volume = 10
}

struct Refusal: Error, CustomStringConvertible { let description: String }

/// A counter, and its step.
enum Count: Codable, CaseIterable, Equatable {
    case stopped
    case counting(value: Int, since: String?)

    static let allCases: [Count] = [.stopped, .counting(value: 0, since: nil)]
}

enum CountEvent: Codable, CaseIterable {
    case start(Int)
    case tick
    case fail

    static let allCases: [CountEvent] = [.start(0), .tick, .fail]
}

struct CountParameters: Codable {
    var period: Duration
}

/// A server, which rejects some parameters.
struct ServingState: State, Codable { let port: UInt16 }
struct MoveEvent: Event, Codable {
    enum Speed: String, Codable, CaseIterable { case fast, slow }
    struct Place: Codable, Sendable { let port: UInt16, speeds: [Speed] }
    let places: [Place]
}
struct ServerParameters: Codable {
    /// A text that names itself in its error.
    struct Token: Codable {
        let text: String

        init(text: String) { self.text = text }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            text = try container.decode(String.self)
            if text.hasPrefix("bad") {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "the token \(text.debugDescription) is none, (\(text.suffix(9)))")
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
    var port: UInt16 = 80
    var tokens: [Token] = []
}

/// The kinds, as a daemon would be given them.
enum Kinds {
    static func speaker() throws -> any SystemImplementation {
        try TypedKind<any State, any Event, SpeakerParameters>.system(
            "speaker", description: "Regulates its volume.", parameters: SpeakerParameters.self,
            defaults: SpeakerParameters(), states: [VolumeState.self, MutedState.self],
            events: [IncreaseEvent.self, DecreaseEvent.self, MuteEvent.self, SetEvent.self, BreakEvent.self]
        ) { parameters in
            guard parameters.target <= 100 else { throw Refusal(description: "a target above 100 would hurt") }
            return System {
                InitialState { VolumeState(value: parameters.volume) }
                Feedbacks {
                    Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                        state.value < parameters.target ? IncreaseEvent() : nil
                    }
                    Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                        state.value > parameters.target ? DecreaseEvent() : nil
                    }
                    Feedback(on: MutedState.self, strategy: .continueOnNewState) { _ in SecretEvent() }
                }
                Transitions {
                    From(VolumeState.self) { state in
                        On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                        On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                        On(SetEvent.self, transitionTo: VolumeState.self) { event in VolumeState(value: event.value) }
                        On(MuteEvent.self, transitionTo: MutedState())
                        On(BreakEvent.self, transitionTo: BrokenState())
                    }
                }
            }
        }
    }

    static func server() throws -> any SystemImplementation {
        try TypedKind<any State, any Event, ServerParameters>.system(
            "server", description: nil, parameters: ServerParameters.self, defaults: ServerParameters(),
            states: [ServingState.self], events: [MoveEvent.self]
        ) { parameters in
            if parameters.port < 10 { throw Refusal(description: "the port \(parameters.port) is taken") }
            let token = parameters.tokens.first?.text ?? ""
            if token.hasPrefix("old") { throw Refusal(description: "the server knows no \(token.uppercased())") }
            return System {
                InitialState { ServingState(port: parameters.port) }
                Feedbacks {
                    Feedback(on: ServingState.self, strategy: .continueOnNewState) { state -> Effect<any Event> in
                        guard state.port == 99 else { return .nothing }
                        return .attempt { _ in throw Refusal(description: "\(token) is no longer valid") }
                    }
                }
                Transitions {
                    From(ServingState.self) { _ in
                        On(MoveEvent.self, transitionTo: ServingState.self) { event in
                            ServingState(port: event.places.first?.port ?? 0)
                        }
                    }
                }
            }
        }
    }

    static func counter() throws -> any SystemImplementation {
        try TypedKind<Count, CountEvent, CountParameters>.loop(
            "counter", description: nil, parameters: CountParameters.self, defaults: nil
        ) { parameters in
            system(
                initial: .stopped,
                reduce: { (count: inout Count, event: CountEvent) in
                    switch (count, event) {
                    case (_, .start(let value)): count = .counting(value: value, since: value > 0 ? "above" : nil)
                    case (.counting(let value, let since), .tick): count = .counting(value: value + 1, since: since)
                    case (.stopped, .tick): break
                    case (_, .fail): count = .stopped
                    }
                },
                feedbacks: [
                    Feedback(name: "tick") { count, _ in
                        guard case .counting = count else { return .nothing }
                        return .after(parameters.period, .tick)
                    },
                    Feedback(name: "fail", cancellation: .never) { _, event in
                        guard case .fail? = event else { return .nothing }
                        return .attempt { _ in throw Refusal(description: "the wire is cut") }
                    },
                ]
            ).makeLoop()
        }
    }
}

/// A host with kinds and a clock that is moved by hand.
final class KindFixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let host: Host
    let kinds: SystemCatalogue

    init(
        _ text: String, also others: [any SystemImplementation] = [], values: ExternalValues = .none,
        continuing state: HostState = HostState()
    ) throws {
        kinds = SystemCatalogue([try Kinds.speaker(), try Kinds.counter(), try Kinds.server()] + others)
        let time = HostTime.manual(clock)
        host = try Host(
            graph: try Self.graph(text, kinds.kinds, values), effects: EffectCatalogue([]), kinds: kinds,
            continuing: state, time: time, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    static func graph(
        _ text: String, _ kinds: [SystemKind], _ values: ExternalValues = .none,
        effects: [EffectSchema] = EffectCatalogue([]).schemas
    ) throws -> Graph {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "test.yaml", text: text)], effects: effects,
            kinds: kinds, values: values)
        for diagnostic in result.diagnostics where diagnostic.severity == .error {
            Issue.record("\(diagnostic.rendered())")
        }
        return try #require(result.graph)
    }

    func apply(_ text: String) async throws -> Applied {
        try await host.apply(try Self.graph(text, kinds.kinds), stopLimit: .seconds(60))
    }
}
