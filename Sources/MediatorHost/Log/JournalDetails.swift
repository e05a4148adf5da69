import CommonExpression
package import Logging
import MediatorConfiguration

/// The details of a log line that only the journal gets: the ID of the message, its cause, and its state. In the text
/// they would only distract the reader.
///
/// The metadata of the line holds them as a dictionary under ``key``. The keys of the dictionary are like those of
/// metadata. The log handler removes the dictionary from the line.
package enum JournalDetails {
    /// The key of the dictionary in the metadata.
    package static let key = "journal"
    /// The key of the ID of the message.
    package static let id = "message-id"
    /// The key of the cause: the name of a state, ``SystemState/id``, or of another end of a chain of causes.
    package static let cause = "cause"
    /// The key of the name of the state that a system has entered.
    package static let stateID = "state-id"
}

extension Logger.Metadata {
    /// Returns the metadata with more details for the journal alone, without empty and `nil` ones.
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

    /// Returns the metadata with the ID of a message and its cause.
    package func about(_ id: MessageID, because cause: String? = nil) -> Logger.Metadata {
        inJournal([JournalDetails.id: id.rawValue, JournalDetails.cause: cause])
    }

    /// Returns the metadata of a line, with the ID of its message and its cause for the journal alone.
    package static func about(
        _ id: MessageID, because cause: String? = nil, _ metadata: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        metadata.about(id, because: cause)
    }

    /// Returns the metadata of a line, with details for the journal alone.
    package static func inJournal(
        _ details: [String: String?], _ metadata: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        metadata.inJournal(details)
    }
}

/// The unique name of a state in the journal: the system and the time of its entry or update, as `why` and `trace` show them. The
/// text is made only on demand. The name keeps no causes of the state alive.
struct StateName: CustomStringConvertible, Sendable {
    private let definition: SystemDefinition
    private let time: Timestamp

    init(_ record: StateRecord) {
        definition = record.definition
        time = record.time
    }

    var description: String { "\(definition.name)/\(time)" }
}

extension StateRecord {
    /// The unique name of the state in the journal.
    var id: String { "\(StateName(self))" }

    /// The name of the state in its definition.
    var name: String { definition.states[index].name }
}

extension SystemState {
    /// The unique name of the state in the journal.
    package var id: String { record.id }
}

extension HostClient {
    /// The name of the client in the journal: its user and its process.
    package var id: String { "client:\(userID):\(processID)" }
}

extension Cause {
    /// The name of the nearest cause in the journal: the state that led to it, or the end of the chain.
    var id: String {
        if let record { return record.id }
        switch origin {
        case let request as RequestOrigin: return request.client?.id ?? "program"
        case let fault as FaultOrigin: return Self.id(ofFaultOf: fault.system)
        case let beginning as BeginningOrigin:
            switch beginning.kind {
            case .start, .startAnew: return "start"
            case .reload, .migration: return "reload"
            case .restored: return "restored"
            case .firstValue: return "first-value:\(bus ?? "")"
            }
        default: return ""
        }
    }

    /// Returns the name of a system's fault in the journal, as the cause of an action.
    package static func id(ofFaultOf system: String) -> String { "fault:\(system)" }

    /// Returns the named parts of the path of an event, for the journal.
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
