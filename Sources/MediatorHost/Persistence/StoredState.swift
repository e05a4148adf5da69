import CommonExpression
import MediatorConfiguration

/// A state of a system, as a journal stores it.
struct StoredState: Sendable {
    let state: SystemState
    let heard: [String: SavedDetails.Heard]

    init(_ state: SystemState, heard: [String: SavedDetails.Heard] = [:]) {
        self.state = state
        self.heard = heard
    }

    /// The content, or `nil` if the data of the state is no structure.
    var content: HostChange.Content? {
        guard let saved = HostState.System(state) else { return nil }
        return .system(saved, details)
    }

    /// The details of the state.
    ///
    /// The number is that of the entry. So it stays the same when a reload carries the state over.
    var details: SavedDetails {
        SavedDetails(serial: state.record.visitNumber, heard: heard)
    }

    /// Returns whether both mean the same state with the same data.
    ///
    /// An update that changes no data makes no difference. The values that the system has heard make none either, because the
    /// system may hear them again as long as it has no new state.
    func isEqual(to other: StoredState) -> Bool {
        let (mine, others) = (state.record, other.state.record)
        return mine.visitNumber == others.visitNumber && mine.since == others.since
            && mine.definition.states[mine.index].type == others.definition.states[others.index].type
            && mine.data == others.data
    }
}

extension HostState.System {
    /// Creates the state to save, or returns `nil` if its data is no structure.
    init?(_ state: SystemState) {
        guard case .structure(let data) = state.data else { return nil }
        self.init(state: state.definition.states[state.index].type, fields: data.fields, since: state.since)
    }
}
