import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// The output of a link that fires, a value or the data of an event, and the time.
struct LinkFiring: Sendable {
    let value: Value
    /// The number of its bytes that count; 0 for a small value.
    let size: Int
    let event: String?
    let time: Timestamp
}

/// A configured link, with the number of its firings and the time of the last one.
///
/// The link acts only when its source shows it a state or a value. See ``HostedSet/join(after:exchanging:done:)``.
final class HostedLink: Sendable {
    struct Status {
        var fired: UInt64 = 0
        var last: Timestamp?
        /// The number of firings that the breaker held back, and of values for which the bus had no room.
        var dropped: UInt64 = 0
        /// The number of attempts to fire that were faults, and the time of the last one.
        var faults: (count: UInt64, last: Timestamp?) = (0, nil)
        var breaker = Rare<LinkBreaker>.none
        /// The last output of a link with `on: change`, if the present state led to it.
        var emitted: Value?
        /// The stay in a compound state for which the link has fired, if its selector still picks the state.
        var stay: Nest.Stay?
    }

    /// The counters of a link. A link that means the same after a reload shares them, because both links may fire during the
    /// exchange.
    final class Figures: Sendable {
        let status: Mutex<Status>
        /// A Boolean value that indicates whether the last attempt to fire was a fault.
        let isFaulty = Atomic(false)

        init(_ status: Status) { self.status = Mutex(status) }
    }

    let definition: LinkDefinition
    /// The present source location of its definition.
    let place: WrittenPlace
    /// The identity of the system, or of the channel of the bus, at which the link begins.
    let origin: ObjectIdentifier
    /// The bus at which the link begins; `nil` if it begins at a system.
    let bus: HostedBus?
    /// The way from states of the system; `nil` if the link begins at a bus.
    let ofStates: Outlet?
    /// The way from values of a bus; `nil` if the link begins at a system.
    let ofValues: Inlet?
    /// The system at which the link begins, or at which a link from a bus ends. It notes the faults of the link.
    let system: LinkTarget
    let figures: Figures
    /// A Boolean value that indicates whether a loop limit bounds the firings.
    private let isBounded: Bool
    private let room: HostRoom
    let time: HostTime
    private let hostLogger: Logger
    /// The handler of the logger. Asking the logger for its level would cost as much as all other work for an event.
    private let handler: any LogHandler
    /// The listeners to its firings.
    let firings: Listeners<LinkFiring>
    /// A Boolean value that indicates whether the link continues a kept link. It then does not see the present state or value
    /// again.
    private let goesOn: Bool

    /// Creates a link between parts of a set. The parts are in the order of its graph.
    ///
    /// - Parameters:
    ///   - definitions: The definitions of the systems for which the link is made.
    ///   - old: An earlier link with the same meaning between other parts. Both links share their counters.
    ///   - goesOn: A Boolean value that indicates whether the new link continues the old one, without a second look at the
    ///     present state or value.
    ///   - place: The source location of an earlier link of the same name, which this link shares.
    init(
        _ definition: LinkDefinition, systems: [HostedSystem], _ definitions: [SystemDefinition], buses: [HostedBus],
        continuing old: HostedLink?, goesOn: Bool = false, at place: WrittenPlace? = nil, in room: HostRoom,
        time: HostTime, logger: Logger
    ) {
        self.definition = definition
        self.room = room
        self.place = place ?? WrittenPlace(definition.source)
        self.time = time
        hostLogger = logger
        handler = logger.handler
        isBounded = definition.loop != nil
        self.goesOn = goesOn
        // A watcher of the kept link watches this one.
        firings = (goesOn ? old?.firings : nil) ?? Listeners()
        figures = old?.figures ?? Figures(Status(breaker: Rare(definition.loop.map(LinkBreaker.init))))
        let (system, words) = (systems[definition.system], definitions[definition.system])
        self.system = LinkTarget(system, words)
        let isTick =
            definition.trigger.map { trigger in
                words.feedbacks.first { $0.name == trigger.feedback }?.schedule.hasTicks ?? false
            } ?? false
        switch definition.form {
        case .systemToBus(let bus, let selector, let programs):
            self.bus = nil
            origin = ObjectIdentifier(system)
            let cause = Cause.LinkOrigin(definition, bus: buses[bus].definition.name, isTick: isTick)
            let programs = ByState(programs, states: words.states.count)
            ofStates = Outlet(selector, programs, cause, to: .bus(buses[bus]))
            ofValues = nil
        case .systemToSystem(let target, let selector, let events):
            bus = nil
            origin = ObjectIdentifier(system)
            let cause = Cause.LinkOrigin(definition, bus: nil, isTick: isTick)
            let programs = ByState(events.mapValues(\.data), states: words.states.count)
            let indices = ByState(events.mapValues(\.event), states: words.states.count)
            let other = LinkTarget(systems[target], definitions[target])
            ofStates = Outlet(selector, programs, cause, to: .system(other, indices))
            ofValues = nil
        case .busToSystem(let bus, let filter, let event):
            self.bus = buses[bus]
            origin = ObjectIdentifier(buses[bus].channel)
            ofStates = nil
            ofValues = Inlet(filter, event, isRestricted: words.events[event.event].rule != nil)
        }
    }

    /// The number of its firings, and the time of the last one.
    var fired: (count: UInt64, last: Timestamp?) { figures.status.withLock { ($0.fired, $0.last) } }

    /// The number of attempts to fire that were faults, and the time of the last one.
    var faults: (count: UInt64, last: Timestamp?) { figures.status.withLock { $0.faults } }

    /// The reason for which the breaker is open, as a clause, and the number of dropped firings and values. The reason is `nil`
    /// while the breaker is closed. A link without a loop limit has neither.
    var held: (why: String?, count: UInt64) {
        guard let limit = definition.loop else { return (nil, 0) }
        let elapsed = time.elapsed()
        let (excess, count) = figures.status.withLock { ($0.breaker.value?.excess(at: elapsed), $0.dropped) }
        return (excess.map { Self.text($0, limit) }, count)
    }

    private static func text(_ excess: LinkBreaker.Excess, _ limit: LoopLimit) -> String {
        switch excess {
        case .rate: "it would fire more often than \(limit.rate)"
        case .hops: "what came round had come over more than \(limit.hops ?? 0) links, and is not passed on"
        }
    }

    /// Counts a firing. Returns `false` if the breaker holds it back.
    ///
    /// - Parameter hops: The number of links that the event has passed, this link included.
    private func fires(
        at now: Timestamp, hops: @autoclosure () -> UInt32, because cause: @autoclosure () -> String?
    ) -> Bool {
        // Most links are part of no loop and do not need the elapsed time.
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
            let verdict = status.breaker.change { $0.attempt(at: elapsed, hops: hops) } ?? .fires
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

    /// The logger, which names the link. It is made for each use, because most links log nothing.
    private var logger: Logger { hostLogger.with(["link": "\(definition.name)"]) }

    private func tellFiring(because cause: @autoclosure () -> String?) {
        guard handler.logLevel <= .debug else { return }
        logger.debug("fired", metadata: .inJournal([JournalDetails.cause: cause()]))
    }

    /// The last output of a link with `on: change`, if the present state led to it.
    var emitted: Value? { definition.firesOnChange ? figures.status.withLock { $0.emitted } : nil }

    /// Notes the output of a link with `on: change`, or `nil` if the state has led to none.
    func note(emitted value: Value?) {
        guard definition.firesOnChange else { return }
        // The old value leaves the lock first, because its release may take long.
        let before = figures.status.withLock { status in
            defer { status.emitted = value }
            return status.emitted
        }
        withExtendedLifetime(before) {}
    }

    /// The identity of the link for the conditions of its system.
    var identity: ObjectIdentifier { ObjectIdentifier(figures) }

    /// Notes that the link works, if it had a fault.
    private func tellWorks() {
        guard figures.isFaulty.load(ordering: .relaxed) else { return }
        figures.isFaulty.store(false, ordering: .relaxed)
        system.linkFired(identity)
    }

    private func fault(_ message: String) -> Fault {
        figures.isFaulty.store(true, ordering: .relaxed)
        let now = time.now()
        figures.status.withLock { $0.faults = ($0.faults.count + 1, now) }
        guard let trigger = definition.trigger else {
            return Fault("link \(definition.name)", of: place, message: message, figures: identity)
        }
        // The place is that of the feedback, which the link publishes for.
        return Fault(
            "feedback \(trigger.feedback)", in: .feedback(trigger.feedback), message: message,
            condition: .link(identity))
    }

    /// The subscriber for the states of a system; `nil` if the link begins at a bus.
    var outlet: Joint<SystemState>? {
        ofStates.map { _ in Joint(self, trigger: definition.trigger?.feedback, goesOn: goesOn) }
    }

    /// Returns the subscriber for the values of a bus, or `nil` if the link begins at a system.
    ///
    /// - Parameter isHeard: A Boolean value that indicates whether the system has heard the present value already.
    func inlet(isHeard: Bool = false) -> Joint<BusValue>? {
        ofValues.map { _ in Joint(self, goesOn: goesOn || isHeard) }
    }

    /// Makes a value or an event of a state, if the link is for this state.
    ///
    /// - Parameter isUpdate: A Boolean value that indicates whether the link has seen the state before its update. Then it
    ///   fires only if its output differs.
    func take(_ state: SystemState, isUpdate: Bool) {
        let known = isUpdate ? emitted : nil
        var emitted: Value?
        defer { note(emitted: emitted) }
        // A reload may change the definition of the system before or after that of the link.
        guard let outlet = ofStates, let index = system.definition.index(of: state.index, in: state.definition)
        else { return }
        switch outlet.destination {
        case .bus(let bus):
            guard let (value, size, now) = emit(state, index, outlet, unless: known, &emitted) else { return }
            let lack = bus.send(value, ofSize: size, at: now, because: outlet.cause, of: state.record)
            guard let lack else { return tellWorks() }
            emitted = nil
            note(stay: nil, outlet)
            // The link has fired already, and a counter never decreases. So the value counts as dropped.
            figures.status.withLock { $0.dropped += 1 }
            system.note(fault(lack))
        case .system(let target, let events):
            guard let event = events[index],
                let (data, size, _) = emit(
                    state, index, outlet, as: target.definition.events[event], unless: known, &emitted)
            else { return }
            tellWorks()
            target.deliver(
                SystemEvent(
                    index: event, data: data, cause: Cause(outlet.cause, of: state.record, at: nil), size: size))
        }
    }

    /// Makes an event of a value of the bus, if the filter admits the value.
    func take(_ item: BusValue) {
        guard let inlet = ofValues, !(item.isReplay && setsInput && system.isYetToBegin) else { return }
        let event = inlet.event.event
        let value = item.value
        let now = time.now()
        var variables = Variables(value, .timestamp(now))
        do throws(EvaluationError) {
            guard try inlet.filter.admits(value, &variables) else { return }
            let data = try inlet.event.data.evaluate(&variables)
            if inlet.isRestricted, let breach = system.definition.events[event].breach(of: data) {
                return system.note(fault(breach.description))
            }
            let size = SystemEvent.size(of: data)
            if let excess = room.excess(ofSize: size, "the event '\(system.definition.events[event].name)'") {
                return system.note(fault(excess))
            }
            guard fires(at: now, hops: item.isReplay ? 1 : item.cause.hops.oneMore, because: item.cause.id) else {
                return
            }
            tellWorks()
            firings.tell(
                LinkFiring(value: data, size: size, event: system.definition.events[event].name, time: now))
            let made = SystemEvent(
                index: event, data: data, via: SystemEvent.Via(link: definition, isReplay: item.isReplay),
                cause: item.cause, size: size)
            if bus?.definition.kind == .currentValue {
                system.take(made, from: ObjectIdentifier(self))
            } else {
                system.deliver(made)
            }
        } catch {
            system.note(fault(error.message))
        }
    }

    /// Returns the value that the link emits for a state, with its size and the time. Returns `nil` if the link does not fire.
    ///
    /// - Parameters:
    ///   - index: The index of the state in the definition of the link's system.
    ///   - known: The last output, which makes the link not fire again.
    ///   - emitted: The output of the link, also if it is the last one.
    private func emit(
        _ state: SystemState, _ index: Int, _ outlet: Outlet, as event: EventDefinition? = nil, unless known: Value?,
        _ emitted: inout Value?
    ) -> (value: Value, size: Int, time: Timestamp)? {
        let now = time.now()
        var variables = state.variables(at: now)
        do {
            // A link with a trigger needs no check: the system checked the feedback when it entered the state, perhaps a while
            // ago.
            var stay: Nest.Stay?
            if definition.trigger == nil {
                note(stay: nil, outlet)
                guard try outlet.selector.matches(index, state.data, &variables) else { return nil }
                stay = state.stay(by: outlet.selector, of: system.definition)
            }
            guard let program = outlet.programs[index] else { return nil }
            let value = try program.evaluate(&variables)
            if let known, known == value {
                emitted = known
                note(stay: stay, outlet)
                return nil
            }
            if let breach = event?.breach(of: value) {
                system.note(fault(breach.description))
                return nil
            }
            let size = SystemEvent.size(of: value)
            if let excess = room.excess(ofSize: size, event.map { "the event '\($0.name)'" } ?? "the value") {
                system.note(fault(excess))
                return nil
            }
            guard fires(at: now, hops: outlet.cause.hops(after: state.record.hops), because: state.id) else {
                return nil
            }
            firings.tell(LinkFiring(value: value, size: size, event: event?.name, time: now))
            emitted = value
            note(stay: stay, outlet)
            return (value, size, now)
        } catch {
            system.note(fault(error.message))
            return nil
        }
    }
}
