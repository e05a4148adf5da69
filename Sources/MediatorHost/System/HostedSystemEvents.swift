import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The events of links and resets.
extension HostedSystem {
    /// Queues an event of a link. If another loop or system has taken over, the event goes there. So no event of a link
    /// is lost in between.
    func deliver(_ event: SystemEvent) { deliver(event, to: incarnation) }

    /// Queues an event that a link makes of a value of a current-value bus. From the beginning of a restart until the
    /// link has shown the present value, such events are dropped.
    func take(_ event: SystemEvent, from link: ObjectIdentifier) {
        let incarnation = status.withLock { status in
            status.phase == .restarting || status.awaited.contains(link) ? nil : status.incarnation
        }
        if let incarnation { deliver(event, to: incarnation) }
    }

    func deliver(_ event: SystemEvent, to first: Incarnation) {
        var incarnation = first
        while !incarnation.loop.offer(event) {
            let (present, successor) = status.withLock { ($0.incarnation, $0.successor) }
            if present !== incarnation {
                incarnation = present
            } else if let successor {
                return successor.inherit(event)
            } else {
                return incarnation.loop.refuse(event)
            }
        }
    }

    /// Takes an event that was sent to a predecessor with a possibly different definition.
    func inherit(_ event: SystemEvent) {
        let definition = definition
        if let event = event.inherited(by: definition) { return deliver(event) }
        status.withLock { $0.counters.refused += 1 }
        repeats.log(
            logger, .warning, "event dropped: the system has no such event any more",
            key: "inherit \(definition.eventName(event))",
            .about(.eventDropped, ["event": "\(definition.eventName(event))"]))
    }

    /// Sets the successor, which gets the events that arrive after the end of this system.
    func isSucceeded(by successor: HostedSystem) {
        status.withLock { $0.successor = successor }
        seat.become(Faint(successor))
    }

    /// Adds the counters of a predecessor to those of this system.
    func countOn(from predecessor: HostedSystem) {
        let before = predecessor.snapshot.counters
        status.withLock { $0.counters = $0.counters + before }
    }

    /// Notes that a link shows the present value now, and every later one from then on.
    func stopAwaiting(_ link: ObjectIdentifier) {
        status.withLock { _ = $0.awaited.remove(link) }
    }

    /// Sends the system to its initial state before it takes another event. Returns `false` if it does not run.
    func reset(because cause: Cause) -> Bool {
        let (incarnation, isPending) = status.withLock { status -> (Incarnation?, Bool) in
            guard status.phase == .running else { return (nil, false) }
            // A paused system needs only one waiting reset.
            let isPending = status.isResetting && status.pause != nil
            status.isResetting = true
            return (status.incarnation, isPending)
        }
        guard let incarnation else { return false }
        return isPending || sendReset(to: incarnation, because: cause)
    }

    func sendReset(to incarnation: Incarnation, because cause: Cause) -> Bool {
        let isAccepted = incarnation.loop.sendFirst(.reset(cause)) == .accepted
        status.withLock { status in
            if isAccepted {
                status.resets += 1
                if status.incarnation === incarnation { status.waitingResets += 1 }
            } else {
                status.isResetting = false
            }
        }
        return isAccepted
    }
}
