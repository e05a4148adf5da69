import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A configured link: how often it fired, and when last.
///
/// It does nothing by itself: what it joins shows it its states or values, see ``HostedSet/join(after:done:)``.
final class HostedLink: Sendable {
    private struct Status {
        var fired: UInt64 = 0
        var last: Timestamp?
    }

    /// What the link looks at.
    private enum End {
        case outlet(@Sendable (HostedLink, SystemState) -> Void)
        case inlet(@Sendable (HostedLink, BusValue) -> Void)
    }

    let definition: LinkDefinition
    /// The system or bus at which it begins.
    let origin: ObjectIdentifier
    private let end: End
    private let status: Mutex<Status>
    private let time: HostTime
    private let logger: Logger

    /// A link between parts of a set, which are given in the order of its graph.
    ///
    /// - Parameter old: one that did the same between other parts, whose count goes on.
    init(
        _ definition: LinkDefinition, systems: [HostedSystem], buses: [HostedBus], continuing old: HostedLink?,
        time: HostTime, logger: Logger
    ) {
        self.definition = definition
        self.time = time
        self.logger = logger
        status = Mutex(old?.status.withLock { $0 } ?? Status())
        let system = systems[definition.system]
        switch definition.form {
        case .systemToBus(let bus, let selector, let programs):
            let bus = buses[bus]
            origin = ObjectIdentifier(system)
            end = .outlet { [weak system] link, state in
                guard let value = link.emit(state, selector, programs, system) else { return }
                bus.send(value)
            }
        case .systemToSystem(let target, let selector, let events):
            origin = ObjectIdentifier(system)
            end = .outlet { [weak system, weak target = systems[target]] link, state in
                guard let target, let event = events[state.index],
                    let data = link.emit(state, selector, [state.index: event.data], system)
                else { return }
                target.loop.send(SystemEvent(index: event.event, data: data))
            }
        case .busToSystem(let bus, let filter, let event):
            origin = ObjectIdentifier(buses[bus])
            end = .inlet { [weak system] link, item in
                guard let system else { return }
                link.take(item, filter, event, system)
            }
        }
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

    /// What a system shows its states, if the link begins at one.
    var outlet: Joint<SystemState>? {
        guard case .outlet(let see) = end else { return nil }
        return Joint(id: ObjectIdentifier(self), name: definition.name) { [self] in see(self, $0) }
    }

    /// What a bus shows its values, if the link begins at one.
    var inlet: Joint<BusValue>? {
        guard case .inlet(let take) = end else { return nil }
        return Joint(id: ObjectIdentifier(self), name: definition.name) { [self] in take(self, $0) }
    }

    /// What a value of the bus makes the link do.
    private func take(_ item: BusValue, _ filter: ValueFilter, _ event: EventProgram, _ system: HostedSystem) {
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
