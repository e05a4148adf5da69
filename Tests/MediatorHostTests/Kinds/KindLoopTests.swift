import CommonExpression
import FeedbackKit
import MediatorConfiguration
import MediatorHost
import Testing

struct BreakerClosed: State, Codable {}
struct BreakerOpen: State, Codable {}
struct CallFailed: Event, Codable {}
struct BreakerRetry: Event, Codable {}

struct CallerIdle: State, Codable {}
struct CallerCalling: State, Codable {}
struct CallerBroken: State, Codable {}
struct CallerGo: Event, Codable {}
struct CallerStop: Event, Codable {}
struct CallerFail: Event, Codable {}

struct CircuitParameters: Codable {
    /// Whether each event leads on from any state.
    var isStubborn = false
    /// Whether the feedbacks emit at once.
    var isHasty = false
}

/// A caller and its circuit breaker, which are linked both ways.
@Suite struct `Links between systems written in Swift` {
    private static func breaker() throws -> any SystemImplementation {
        try TypedKind<any State, any Event, CircuitParameters>.system(
            "breaker", description: nil, parameters: CircuitParameters.self, defaults: CircuitParameters(),
            states: [BreakerClosed.self, BreakerOpen.self], events: [CallFailed.self, BreakerRetry.self]
        ) { parameters in
            System {
                InitialState { BreakerClosed() }
                Feedbacks {
                    if parameters.isHasty {
                        Feedback(on: BreakerOpen.self, strategy: .continueOnNewState) {
                            (_: BreakerOpen) -> (any Event)? in BreakerRetry()
                        }
                    } else {
                        Feedback(on: BreakerOpen.self, strategy: .continueOnNewState) {
                            (_: BreakerOpen) -> Effect<any Event> in .after(.seconds(1), BreakerRetry())
                        }
                    }
                }
                Transitions {
                    if parameters.isStubborn {
                        From(AnyState.self) { _ in
                            On(CallFailed.self, transitionTo: BreakerOpen())
                        }
                    } else {
                        From(BreakerClosed.self) { _ in
                            On(CallFailed.self, transitionTo: BreakerOpen())
                        }
                    }
                    From(BreakerOpen.self) { _ in
                        On(BreakerRetry.self, transitionTo: BreakerClosed())
                    }
                }
            }
        }
    }

    private static func caller() throws -> any SystemImplementation {
        try TypedKind<any State, any Event, CircuitParameters>.system(
            "caller", description: nil, parameters: CircuitParameters.self, defaults: CircuitParameters(),
            states: [CallerIdle.self, CallerCalling.self, CallerBroken.self],
            events: [CallerGo.self, CallerStop.self, CallerFail.self]
        ) { parameters in
            System {
                InitialState { CallerIdle() }
                Feedbacks {
                    if parameters.isHasty {
                        Feedback(on: CallerCalling.self, strategy: .continueOnNewState) {
                            (_: CallerCalling) -> (any Event)? in CallerFail()
                        }
                    } else {
                        Feedback(on: CallerCalling.self, strategy: .continueOnNewState) {
                            (_: CallerCalling) -> Effect<any Event> in .after(.seconds(1), CallerFail())
                        }
                    }
                }
                Transitions {
                    if parameters.isStubborn {
                        From(AnyState.self) { _ in
                            On(CallerStop.self, transitionTo: CallerBroken())
                        }
                    } else {
                        From(CallerBroken.self) { _ in
                            On(CallerStop.self, transitionTo: CallerIdle())
                        }
                    }
                    From(CallerIdle.self) { _ in
                        On(CallerGo.self, transitionTo: CallerCalling())
                    }
                    From(CallerCalling.self) { _ in
                        On(CallerFail.self, transitionTo: CallerBroken())
                    }
                }
            }
        }
    }

    private func loops(_ parameters: String, _ kinds: [SystemKind]) -> [String] {
        let text = """
            system: guard
            kind: breaker
            with: \(parameters)
            ---
            system: client
            kind: caller
            with: \(parameters)
            ---
            links:
              failed: { attach: client, toSystem: guard, onState: CallerBroken, emitEvent: CallFailed }
              go: { attach: guard, toSystem: client, onState: BreakerClosed, emitEvent: CallerGo }
              stop: { attach: guard, toSystem: client, onState: BreakerOpen, emitEvent: CallerStop }
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds)
        #expect(result.diagnostics.allSatisfy { $0.code == .loop || $0.severity != .error })
        return result.diagnostics.filter { $0.code == .loop }.map(\.message)
    }

    @Test func `are no loop if the tables of the instances exclude the circle`() throws {
        let kinds = SystemCatalogue([try Self.breaker(), try Self.caller()]).kinds
        #expect(loops("{ isHasty: false }", kinds) == [])
        // A description of the kinds, as from a file, has no tables.
        let described = kinds.map {
            SystemKind(name: $0.name, parameters: $0.parameters, states: $0.states, events: $0.events)
        }
        #expect(described == kinds)
        #expect(!loops("{ isHasty: false }", described).isEmpty)
    }

    @Test func `are a loop if the table of the instance leads round`() throws {
        let kinds = SystemCatalogue([try Self.breaker(), try Self.caller()]).kinds
        #expect(
            loops("{ isStubborn: true }", kinds)
                == ["the links 'failed' and 'stop' can set each other off without end"])
    }

    @Test func `are a loop if feedbacks that emit at once lead round`() throws {
        let kinds = SystemCatalogue([try Self.breaker(), try Self.caller()]).kinds
        #expect(loops("{ isHasty: true }", kinds) == ["the links 'failed' and 'go' may set each other off without end"])
    }
}
