import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// What a link emitted: a value or the data of an event, and when.
struct LinkFiring: Sendable {
    let value: Value
    /// How many bytes of it count.
    let size: Int
    let event: String?
    let time: Timestamp
}

/// A configured link: how often it fired, and when last.
///
/// It does nothing by itself: what it joins shows it its states or values, see ``HostedSet/join(after:done:)``.
final class HostedLink: Sendable {
    private struct Status {
        var fired: UInt64 = 0
        var last: Timestamp?
        /// What was held back by the breaker.
        var dropped: UInt64 = 0
        var breaker: LinkBreaker?
    }

    /// What a link counts, which it shares with the link that does the same after a reload: while one gives way to the
    /// other, both may fire.
    private final class Figures: Sendable {
        let status: Mutex<Status>

        init(_ status: Status) { self.status = Mutex(status) }
    }

    /// What the link looks at.
    private enum End {
        case outlet(@Sendable (HostedLink, SystemState) -> Void)
        case inlet(@Sendable (HostedLink, BusValue) -> Void)
    }

    let definition: LinkDefinition
    /// Where it is written now.
    let place: WrittenPlace
    /// The system or bus at which it begins.
    let origin: ObjectIdentifier
    /// The bus at which it begins, if it does.
    private let bus: HostedBus?
    private let end: End
    private let figures: Figures
    /// Whether it must not fire as often as it likes.
    private let isBounded: Bool
    private let room: HostRoom
    private let time: HostTime
    private let logger: Logger
    /// The logger's own, since to ask the logger for its level costs as much as all else in an event's way.
    private let handler: any LogHandler
    /// Those who want to know when it fires.
    let firings = Listeners<LinkFiring>()

    /// A link between parts of a set, which are given in the order of its graph.
    ///
    /// - Parameters:
    ///   - old: one that did the same between other parts; both count together.
    ///   - place: that of one of its name before, where it has faults.
    init(
        _ definition: LinkDefinition, systems: [HostedSystem], buses: [HostedBus], continuing old: HostedLink?,
        at place: WrittenPlace? = nil, in room: HostRoom, time: HostTime, logger: Logger
    ) {
        self.definition = definition
        self.room = room
        self.place = place ?? WrittenPlace(definition.source)
        self.time = time
        self.logger = logger
        handler = logger.handler
        isBounded = definition.loop != nil
        figures = old?.figures ?? Figures(Status(breaker: definition.loop.map(LinkBreaker.init)))
        let system = systems[definition.system]
        let isTick =
            definition.trigger.map { trigger in
                system.definition.feedbacks.first { $0.name == trigger.feedback }?.schedule.hasTicks ?? false
            } ?? false
        switch definition.form {
        case .systemToBus(let bus, let selector, let programs):
            let bus = buses[bus]
            let programs = ByState(programs, states: system.definition.states.count)
            let cause = Cause.LinkOrigin(definition, bus: bus.definition.name, isTick: isTick)
            self.bus = nil
            origin = ObjectIdentifier(system)
            let source = LinkTarget(system)
            end = .outlet { link, state in
                guard let (value, size, now) = link.emit(state, selector, programs, cause, source) else { return }
                let lack = bus.send(value, ofSize: size, at: now, because: cause, of: state.record)
                guard let lack else { return }
                // The link has fired, and the bus has no room for its value. A counter never goes back.
                link.figures.status.withLock { $0.dropped += 1 }
                source.note(link.fault(lack))
            }
        case .systemToSystem(let target, let selector, let events):
            let indices = ByState(events.mapValues(\.event), states: system.definition.states.count)
            let programs = ByState(events.mapValues(\.data), states: system.definition.states.count)
            let cause = Cause.LinkOrigin(definition, bus: nil, isTick: isTick)
            bus = nil
            origin = ObjectIdentifier(system)
            let (source, target) = (LinkTarget(system), LinkTarget(systems[target]))
            end = .outlet { link, state in
                guard let event = indices[state.index],
                    let (data, size, _) = link.emit(
                        state, selector, programs, cause, source, as: target.definition.events[event])
                else { return }
                target.deliver(
                    SystemEvent(index: event, data: data, cause: Cause(cause, of: state.record, at: nil), size: size))
            }
        case .busToSystem(let bus, let filter, let event):
            self.bus = buses[bus]
            origin = ObjectIdentifier(buses[bus].channel)
            let target = LinkTarget(system)
            let isRestricted = system.definition.events[event.event].rule != nil
            end = .inlet { link, item in link.take(item, filter, event, target, isRestricted: isRestricted) }
        }
    }

    /// Shows the system that takes a bus's values, which has begun anew, the present one, if the link still joins them.
    func showPresent(to system: HostedSystem) {
        let id = ObjectIdentifier(self)
        guard let bus else { return system.stopAwaiting(id) }
        bus.channel.showPresent(to: id) { system.stopAwaiting(id) }
    }

    /// How often it has fired, and when last.
    var fired: (count: UInt64, last: Timestamp?) { figures.status.withLock { ($0.fired, $0.last) } }

    /// Why it is open, as a clause (nil: it is not), and how many times it did not fire because it was.
    var held: (why: String?, count: UInt64) {
        guard let limit = definition.loop else { return (nil, 0) }
        let elapsed = time.elapsed()
        let (excess, count) = figures.status.withLock { ($0.breaker?.excess(at: elapsed), $0.dropped) }
        return (excess.map { Self.text($0, limit) }, count)
    }

    private static func text(_ excess: LinkBreaker.Excess, _ limit: LoopLimit) -> String {
        switch excess {
        case .rate: "it would fire more often than \(limit.rate)"
        case .hops: "what came round had come over more than \(limit.hops ?? 0) links, and is not passed on"
        }
    }

    /// Counts that it fires; `false` if it must not.
    ///
    /// - Parameter hops: how many links have been come over, this one included.
    private func fires(
        at now: Timestamp, hops: @autoclosure () -> UInt32, because cause: @autoclosure () -> String?
    ) -> Bool {
        // Most links are part of no loop, and need not know how late it is.
        guard isBounded else {
            figures.status.withLock { status in
                status.fired += 1
                status.last = now
            }
            tellFiring(because: cause())
            return true
        }
        let (elapsed, hops) = (time.elapsed(), hops())
        let verdict = figures.status.withLock { status in
            let verdict = status.breaker?.attempt(at: elapsed, hops: hops) ?? .fires
            switch verdict {
            case .fires, .closes:
                status.fired += 1
                status.last = now
            case .opens, .holds: status.dropped += 1
            }
            return verdict
        }
        switch verdict {
        case .fires: break
        case .closes:
            logger.notice(
                "the link fires again, after a quiet period", metadata: .about(.linkFires, because: cause()))
        case .opens(let excess):
            let (message, limit) =
                switch excess {
                case .rate:
                    (
                        "the link would fire more often than its loop may; it is held back until it has been quiet for a "
                            + "period", definition.loop?.rate.description
                    )
                case .hops:
                    (
                        "what comes round has come over more links than it may, and is not passed on",
                        definition.loop?.hops.map { "\($0) hops" }
                    )
                }
            logger.warning(
                "\(message)",
                metadata: .about(
                    .linkHeldBack, because: cause(),
                    ["limit": "\(limit ?? "")", "link-source": "\(place.now)"]))
            return false
        case .holds: return false
        }
        tellFiring(because: cause())
        return true
    }

    private func tellFiring(because cause: @autoclosure () -> String?) {
        guard handler.logLevel <= .debug else { return }
        logger.debug("fired", metadata: .inJournal([JournalDetails.cause: cause()]))
    }

    private func fault(_ message: String) -> Fault {
        guard let trigger = definition.trigger else {
            return Fault("link \(definition.name)", of: place, message: message)
        }
        // It is the system's, which notes it.
        return Fault("feedback \(trigger.feedback)", in: .feedback(trigger.feedback), message: message)
    }

    /// What a system shows its states, if the link begins at one.
    var outlet: Joint<SystemState>? {
        guard case .outlet(let see) = end else { return nil }
        return Joint(id: ObjectIdentifier(self), name: definition.name, trigger: definition.trigger?.feedback) {
            [self] in see(self, $0)
        }
    }

    /// What a bus shows its values, if the link begins at one.
    var inlet: Joint<BusValue>? {
        guard case .inlet(let take) = end else { return nil }
        return Joint(id: ObjectIdentifier(self), name: definition.name) { [self] in take(self, $0) }
    }

    /// What a value of the bus makes the link do.
    ///
    /// - Parameter isRestricted: whether the event's data must be something besides being of its type.
    private func take(
        _ item: BusValue, _ filter: ValueFilter, _ event: EventProgram, _ system: LinkTarget, isRestricted: Bool
    ) {
        let value = item.value
        let now = time.now()
        var variables = Variables(value, .timestamp(now))
        do throws(EvaluationError) {
            guard try filter.admits(value, &variables) else { return }
            let data = try event.data.evaluate(&variables)
            if isRestricted, let breach = system.definition.events[event.event].breach(of: data) {
                return system.note(fault(breach.description))
            }
            let size = SystemEvent.size(of: data)
            if let excess = room.excess(ofSize: size, "the event '\(system.definition.events[event.event].name)'") {
                return system.note(fault(excess))
            }
            guard fires(at: now, hops: item.isReplay ? 1 : item.cause.hops.oneMore, because: item.cause.id) else {
                return
            }
            firings.tell(
                LinkFiring(value: data, size: size, event: system.definition.events[event.event].name, time: now))
            let event = SystemEvent(
                index: event.event, data: data, via: SystemEvent.Via(link: definition, isReplay: item.isReplay),
                cause: item.cause, size: size)
            if bus?.definition.kind == .currentValue {
                system.take(event, from: ObjectIdentifier(self))
            } else {
                system.deliver(event)
            }
        } catch {
            system.note(fault(error.message))
        }
    }

    /// What a state makes the link emit, if anything, and when.
    ///
    /// - Parameter system: where something is to be noted.
    private func emit(
        _ state: SystemState, _ selector: StateSelector, _ programs: ByState<DataProgram>, _ cause: Cause.LinkOrigin,
        _ system: LinkTarget, as event: EventDefinition? = nil
    ) -> (value: Value, size: Int, time: Timestamp)? {
        let now = time.now()
        var variables = Variables(state.data, .timestamp(now))
        do {
            // What a feedback makes fire has been asked for when its state was entered, though that may be a while ago.
            if definition.trigger == nil { guard try selector.matches(state, &variables) else { return nil } }
            guard let program = programs[state.index] else { return nil }
            let value = try program.evaluate(&variables)
            if let breach = event?.breach(of: value) {
                system.note(fault(breach.description))
                return nil
            }
            let size = SystemEvent.size(of: value)
            if let excess = room.excess(ofSize: size, event.map { "the event '\($0.name)'" } ?? "the value") {
                system.note(fault(excess))
                return nil
            }
            guard fires(at: now, hops: cause.hops(after: state.record.hops), because: state.id) else { return nil }
            firings.tell(LinkFiring(value: value, size: size, event: event?.name, time: now))
            return (value, size, now)
        } catch {
            system.note(fault(error.message))
            return nil
        }
    }
}

/// What a link does in a state, found by the state's index.
private struct ByState<Element: Sendable>: Sendable {
    private let elements: [Element?]

    init(_ elements: [Int: Element], states: Int) {
        self.elements = (0..<states).map { elements[$0] }
    }

    /// What it does in a state; nil: nothing.
    subscript(state: Int) -> Element? { elements.indices.contains(state) ? elements[state] : nil }
}

extension ValueFilter {
    /// Whether a value passes. `variables`: the value and the time.
    func admits(_ value: Value, _ variables: inout Variables) throws(EvaluationError) -> Bool {
        switch self {
        case .all: true
        case .equals(let expected): value == expected
        case .condition(let condition): try condition.evaluateBool(&variables)
        }
    }
}
