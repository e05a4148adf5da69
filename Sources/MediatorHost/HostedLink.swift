import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A configured link: how often it fired, and when last.
final class HostedLink: Sendable {
    private struct Status {
        var fired: UInt64 = 0
        var last: Timestamp?
    }

    let definition: LinkDefinition
    private let status = Mutex(Status())
    private let time: HostTime
    private let logger: Logger

    init(_ definition: LinkDefinition, time: HostTime, logger: Logger) {
        self.definition = definition
        self.time = time
        self.logger = logger
    }

    /// How often it has fired, and when last.
    var fired: (count: UInt64, last: Timestamp?) { status.withLock { ($0.fired, $0.last) } }

    private func fire(at now: Timestamp) {
        status.withLock { status in
            status.fired += 1
            status.last = now
        }
        logger.debug("fired")
    }

    private var place: String { "link \(definition.name), \(definition.source)" }

    /// Joins the parts. The subscription, if there is one, is to be kept for as long as the link lasts.
    ///
    /// It is called for every link before any system is started, so that no first state and no first value is missed.
    func connect(systems: [HostedSystem], buses: [HostedBus]) -> Subscription? {
        let system = systems[definition.system]
        switch definition.form {
        case .systemToBus(let bus, let selector, let programs):
            let bus = buses[bus]
            system.loop.add(
                .sink(name: "link \(definition.name)") { [self, weak system] state, _ in
                    guard let value = emit(state, selector, programs, system) else { return }
                    bus.send(value)
                })
            return nil
        case .systemToSystem(let target, let selector, let events):
            system.loop.add(
                .sink(name: "link \(definition.name)") { [self, weak system, weak target = systems[target]] state, _ in
                    guard let target, let event = events[state.index],
                        let data = emit(state, selector, [state.index: event.data], system)
                    else { return }
                    target.loop.send(SystemEvent(index: event.event, data: data))
                })
            return nil
        case .busToSystem(let bus, let filter, let event):
            return buses[bus].subscribe { [self, weak system] item in
                guard let system else { return }
                let value = item.value
                let now = time.now()
                let variables = [value, .timestamp(now)]
                do throws(EvaluationError) {
                    guard try filter.admits(value, variables) else { return }
                    let data = try event.data.evaluate(variables)
                    fire(at: now)
                    system.loop.send(SystemEvent(index: event.event, data: data))
                } catch {
                    system.note(Fault(place: place, message: error.message))
                }
            }
        }
    }

    /// What a state makes the link emit, if anything.
    private func emit(
        _ state: SystemState, _ selector: StateSelector, _ programs: [Int: DataProgram], _ system: HostedSystem?
    ) -> Value? {
        let now = time.now()
        let variables = [state.data, .timestamp(now)]
        do {
            guard try selector.matches(state, variables), let program = programs[state.index] else { return nil }
            let value = try program.evaluate(variables)
            fire(at: now)
            return value
        } catch {
            system?.note(Fault(place: place, message: error.message))
            return nil
        }
    }
}

extension ValueFilter {
    /// Whether a value passes. `variables`: the value and the time.
    func admits(_ value: Value, _ variables: [Value]) throws(EvaluationError) -> Bool {
        switch self {
        case .all: true
        case .equals(let expected): value == expected
        case .condition(let condition): try condition.evaluateBool(variables)
        }
    }
}
