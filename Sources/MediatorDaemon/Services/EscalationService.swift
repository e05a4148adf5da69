import Logging
import MediatorHost
import ServiceLifecycle
import Systemd

/// Ends the daemon, in order, when a system asks for it on account of its faults.
struct EscalationService: Service, CustomStringConvertible {
    let host: Host
    let notifier: Notifier
    let logger: Logger
    /// Called when that is so, with the name of the system.
    let escalated: @Sendable (String) -> Void

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "escalations" }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await escalation in host.escalations {
                escalated(escalation.system)
                logger.critical(
                    "ending, since a system asks for it",
                    metadata: .about(
                        .escalated, because: Cause.id(ofFaultOf: escalation.system),
                        ["system": "\(escalation.system)", "reason": "\(escalation.reason)"]))
                notifier.notify(
                    .status("ending on account of the system '\(escalation.system)'"),
                    .exitStatus(ExitStatus.escalated.rawValue))
                return
            }
            // The host has been stopped, and so will this be.
            try? await gracefulShutdown()
        }
    }
}
