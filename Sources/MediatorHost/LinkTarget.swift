import MediatorConfiguration

/// The system at an end of a link, which the link does not keep alive.
///
/// A value may reach the link when a reload has replaced the system and nobody holds it any more: its publisher found the bus
/// before the reload. Then the event is for the system that has taken its place.
final class LinkTarget: Sendable {
    let definition: SystemDefinition
    private let system: Faint<HostedSystem>
    private let seat: Latest<Faint<HostedSystem>?>

    init(_ system: HostedSystem) {
        definition = system.definition
        self.system = Faint(system)
        seat = system.seat
    }

    private var successor: HostedSystem? { seat.now?.object }

    /// Puts in an event. If the system was removed without a successor, it is for nobody.
    func deliver(_ event: SystemEvent) {
        if let system = system.object { return system.deliver(event) }
        successor?.inherit(event, from: definition)
    }

    /// Puts in an event that a link from a bus that remembers makes of a value.
    func take(_ event: SystemEvent, from link: ObjectIdentifier) {
        if let system = system.object { return system.take(event, from: link) }
        successor?.inherit(event, from: definition)
    }

    /// Notes a fault of the link.
    func note(_ fault: Fault) {
        (system.object ?? successor)?.note(fault)
    }
}

/// Something that is not kept alive. A closure that captures it weakly by itself has a variable, each look at which is checked at run
/// time for whether it may be.
final class Faint<Object: AnyObject & Sendable>: Sendable {
    weak let object: Object?

    init(_ object: Object) { self.object = object }
}
