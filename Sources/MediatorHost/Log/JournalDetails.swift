import CommonExpression
package import Logging
import MediatorConfiguration

/// What a line of the log tells the journal alone, since it would only be in the way of who reads: the id of the message,
/// what brought it about, the state that it is about.
///
/// It lies in the line's metadata as a dictionary under ``key``, whose keys are like those of metadata, until the handler of
/// the log takes it out.
package enum JournalDetails {
    /// The key in the metadata.
    package static let key = "journal"
    /// The key of the id of the message.
    package static let id = "message-id"
    /// The key of what brought it about: the name of a state, ``SystemState/id``, or how else a chain of causes ends.
    package static let cause = "cause"
    /// The key of the name of the state that a system has entered.
    package static let stateID = "state-id"
}

extension Logger.Metadata {
    /// With more for the journal alone; what is nil or empty is left out.
    package func inJournal(_ details: [String: String?]) -> Logger.Metadata {
        var all: Logger.Metadata = [:]
        if case .dictionary(let present)? = self[JournalDetails.key] { all = present }
        all.reserveCapacity(all.count + details.count)
        for (key, text) in details {
            if let text, !text.isEmpty { all[key] = .string(text) }
        }
        var copy = self
        copy[JournalDetails.key] = .dictionary(all)
        return copy
    }

    /// With what it is about, and what brought that about.
    package func about(_ id: MessageID, because cause: String? = nil) -> Logger.Metadata {
        inJournal([JournalDetails.id: id.rawValue, JournalDetails.cause: cause])
    }

    /// What a line says besides, and for the journal alone what it is about, and what brought that about.
    package static func about(
        _ id: MessageID, because cause: String? = nil, _ metadata: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        metadata.about(id, because: cause)
    }

    /// What a line says besides, and to the journal alone.
    package static func inJournal(
        _ details: [String: String?], _ metadata: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        metadata.inJournal(details)
    }
}

/// The name by which the journal tells a state from all others: the system and the time at which it was entered, as `why` and
/// `trace` tell them. Made into text only where it is wanted; it keeps alive nothing that led to the state.
struct StateName: CustomStringConvertible, Sendable {
    private let definition: SystemDefinition
    private let since: Timestamp

    init(_ record: StateRecord) {
        definition = record.definition
        since = record.since
    }

    var description: String { "\(definition.name)/\(since)" }
}

extension StateRecord {
    /// The name by which the journal tells this state from all others.
    var id: String { "\(StateName(self))" }

    /// What the state is called.
    var name: String { definition.states[index].name }
}

extension SystemState {
    /// The name by which the journal tells this state from all others.
    package var id: String { record.id }
}

extension HostClient {
    /// What the journal calls who asked for something: the user and the process.
    package var id: String { "client:\(userID):\(processID)" }
}

extension Cause {
    /// What the journal calls what is nearest: the state that was seen, or how the chain ends.
    var id: String {
        if let record { return record.id }
        switch origin {
        case let request as RequestOrigin: return request.client?.id ?? "program"
        case let fault as FaultOrigin: return Self.id(ofFaultOf: fault.system)
        case let beginning as BeginningOrigin:
            switch beginning.kind {
            case .start: return "start"
            case .reload, .migration: return "reload"
            case .restored: return "restored"
            case .firstValue: return "first-value:\(bus ?? "")"
            }
        default: return ""
        }
    }

    /// What the journal calls the fault of a system, where something is done about it.
    package static func id(ofFaultOf system: String) -> String { "fault:\(system)" }

    /// By which way an event came, as far as that has a name.
    func journalDetails(of event: SystemEvent?) -> [String: String?] {
        var details: [String: String?] = [JournalDetails.cause: id, "bus": bus]
        switch origin {
        case let origin as LinkOrigin: details["link"] = event?.via?.link.name ?? origin.link.name
        case let origin as FeedbackOrigin: details["feedback"] = origin.source.name
        default: details["link"] = event?.via?.link.name
        }
        return details
    }
}
