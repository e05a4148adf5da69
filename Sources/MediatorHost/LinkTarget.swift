import FeedbackKit
import MediatorConfiguration

/// A weak reference to the system at an end of a link.
///
/// A publisher may find the bus before a reload and send its value after the replaced system is gone. The event then goes to
/// the successor of that system.
final class LinkTarget: Sendable {
    /// The definition for which the link was made.
    let definition: SystemDefinition
    private let system: Faint<HostedSystem>
    private let seat: Latest<Faint<HostedSystem>?>

    init(_ system: HostedSystem, _ definition: SystemDefinition) {
        self.definition = definition
        self.system = Faint(system)
        seat = system.seat
    }

    private var successor: HostedSystem? { seat.now?.object }

    /// Delivers an event. If the system is gone and has no successor, the event is discarded.
    func deliver(_ event: SystemEvent) {
        if let system = system.object { return system.deliver(event) }
        successor?.inherit(event)
    }

    /// Delivers an event that a link makes of a value of a bus that remembers.
    func take(_ event: SystemEvent, from link: ObjectIdentifier) {
        if let system = system.object { return system.take(event, from: link) }
        successor?.inherit(event)
    }

    /// The present state; `nil` if the system has not begun.
    var state: SystemState? {
        guard let loop = (system.object ?? successor)?.loop, loop.phase != .notStarted else { return nil }
        return loop.state
    }

    /// A Boolean value that indicates whether the system has yet to begin. It then reads the present values of its inputs.
    /// A system whose start waits for the journal has read them.
    var isYetToBegin: Bool {
        guard let incarnation = system.object?.incarnation, incarnation.loop.phase == .notStarted else { return false }
        return incarnation.commits?.isStarting != true
    }

    /// Returns whether a system is this one.
    func leads(to other: HostedSystem) -> Bool { system.object === other }

    /// Notes a fault of the link.
    func note(_ fault: Fault) {
        (system.object ?? successor)?.note(fault)
    }

    /// Notes that the link fires without a fault.
    func linkFired(_ link: ObjectIdentifier) {
        (system.object ?? successor)?.linkFired(link)
    }
}

/// A weak reference. A weak capture in a closure is a variable, and the runtime checks each access to it for exclusivity. This
/// constant needs no such check.
final class Faint<Object: AnyObject & Sendable>: Sendable {
    weak let object: Object?

    init(_ object: Object) { self.object = object }
}
