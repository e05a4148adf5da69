import CommonExpression
import MediatorConfiguration

/// The compound states that a system is in, and the states inside compound states that it left last.
package struct Nest: Sendable {
    /// A stay in a compound state, from the entry on. It has no content: its identity tells it from others.
    final class Stay: Sendable {}

    /// A compound state that the system is in.
    private struct Place: Sendable {
        /// The index of the compound state.
        let compound: Int
        let stay: Stay
    }

    /// A state that was left, with its data.
    struct Left: Sendable {
        let state: Int
        let data: Structure
    }

    /// The compound states that the system is in, the outermost first.
    private var places: [Place] = []
    /// By compound state, the state inside that was left last. Only what a rule may ask for is kept.
    private(set) var left: [Int: Left] = [:]

    /// The number of bytes that count in the remembered data; see ``SystemEvent/size(of:)``.
    var size: Int { left.values.reduce(0) { $0 + SystemEvent.size(of: .structure($1.data)) } }

    /// Enters a state.
    ///
    /// - Parameters:
    ///   - target: The index of the state.
    ///   - reentered: The index of a compound state that is entered even if the system is in it.
    ///   - before: The state that is left, or `nil` if the system begins.
    mutating func enter(
        _ target: Int, reentered: Int?, from before: SystemState?, of definition: SystemDefinition
    ) {
        let chain = definition.states[target].compounds
        let old = places
        var kept = 0
        while kept < min(old.count, chain.count), old[kept].compound == chain[kept], chain[kept] != reentered {
            kept += 1
        }
        if let before, case .structure(let data) = before.data {
            // A compound state remembers when the state directly inside is left.
            for place in old[max(0, kept - 1)...] where definition.remembered.contains(place.compound) {
                left[place.compound] = Left(state: before.index, data: data)
            }
        }
        places.removeSubrange(kept...)
        for compound in chain[kept...] { places.append(Place(compound: compound, stay: Stay())) }
    }

    /// Returns the stays and memories in terms of another definition.
    ///
    /// - Parameter match: The index of the state in the new definition; `nil` if the system goes to its initial state.
    func carried(
        from old: SystemDefinition, to new: SystemDefinition, in match: Int?
    ) -> Nest {
        var nest = Nest()
        let known = Dictionary(
            new.compounds.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for (compound, memory) in left {
            guard let place = known[old.compounds[compound].name], new.remembered.contains(place),
                let state = new.index(of: memory.state, in: old), new.isState(state, in: place)
            else { continue }
            let data = Structure(type: new.states[state].type, fields: memory.data.fields)
            nest.left[place] = Left(state: state, data: data)
        }
        guard let match else {
            nest.enter(new.initialState.state, reentered: nil, from: nil, of: new)
            return nest
        }
        for compound in new.states[match].compounds {
            let name = new.compounds[compound].name
            let place = places.first { old.compounds[$0.compound].name == name }
            nest.places.append(Place(compound: compound, stay: place?.stay ?? Stay()))
        }
        return nest
    }

    /// The stay in one of some compound states.
    func stay(in compounds: [Int]) -> Stay? { places.first { compounds.contains($0.compound) }?.stay }

    /// The indices of the compound states that the system is in, the outermost first.
    var compounds: [Int] { places.map(\.compound) }
}

extension SystemState {
    /// The stay in the compound state by which a selector selects the state, or `nil` if it names the state itself.
    ///
    /// - Parameter definition: The definition with the indices of the selector.
    func stay(by selector: StateSelector, of definition: SystemDefinition) -> Nest.Stay? {
        if selector.compounds.isEmpty { return nil }
        let nest = levels.nest
        if definition === self.definition { return nest.stay(in: selector.compounds) }
        let names = selector.compounds.map { definition.compounds[$0].name }
        let own = self.definition.compounds
        return nest.stay(in: own.indices.filter { names.contains(own[$0].name) })
    }
}
