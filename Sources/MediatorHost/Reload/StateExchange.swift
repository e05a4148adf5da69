package import CommonExpression
package import MediatorConfiguration

// The state of a system when a reload gives the system another definition.
extension SystemState {
    /// Returns the state in which the system continues with another definition: the same state, or else the initial one.
    package func exchanged(for new: SystemDefinition, at time: Timestamp) -> SystemState {
        // A system may enter a state after the reload has been planned, so this can be one whose name or fields are others now.
        if let same = migrated(to: new, at: time) ?? fitted(to: new, at: time) { return same }
        let levels =
            new.hasLevels ? self.levels.carried(from: definition, in: self.index, to: new, in: nil) : nil
        let index = new.initialState.state
        // The initial state could be computed when the reload was prepared. If that fails now, its fields are empty.
        let data =
            (try? new.initialData(now: time))
            ?? Structure(type: new.states[index].type, fields: new.states[index].type.fields.map { $0.type.blank })
        return SystemState(
            beginning: new, in: index, .structure(data), since: time, serial: serial + 1,
            because: Cause(Cause.BeginningOrigin(.reload), of: record, at: time), original: levels)
    }

    /// Returns the same state in another definition of its system; `nil` if the definition has no such state with the same
    /// fields.
    ///
    /// The result keeps the time of entry, but counts as a state that no event has entered.
    ///
    /// - Parameter time: The time of the migration.
    func migrated(to new: SystemDefinition, at time: Timestamp) -> SystemState? {
        guard let match = new.index(of: index, in: definition), case .structure(let structure) = data else {
            return nil
        }
        return carried(to: new, in: match, structure.fields, at: time)
    }

    /// Returns the state in a later definition, which may have other names and fields; `nil` if it does not fit.
    ///
    /// - Parameter time: The time of the migration.
    func fitted(to new: SystemDefinition, at time: Timestamp) -> SystemState? {
        guard case .structure(let structure) = data,
            let fit = try? StateFit(definition.states[index].type, in: new)
        else { return nil }
        return carried(to: new, in: fit.state, fit.fields(from: structure.fields), at: time)
    }

    private func carried(
        to new: SystemDefinition, in match: Int, _ fields: [Value], at time: Timestamp
    ) -> SystemState {
        let levels =
            new.hasLevels ? self.levels.carried(from: definition, in: index, to: new, in: match) : nil
        let value = Value.structure(Structure(type: new.states[match].type, fields: fields))
        return SystemState(
            beginning: new, in: match, value, since: since, serial: serial + 1,
            because: Cause(Cause.BeginningOrigin(.migration), of: record, at: time), original: levels,
            continuing: record.visit)
    }
}
