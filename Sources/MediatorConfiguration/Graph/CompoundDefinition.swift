/// A state with states inside. A system is always in one of the states that have none inside; it is then also in the compound
/// states around it.
public struct CompoundDefinition: Sendable {
    /// Its name, unique among the states of the system: `Running`, or `Running.Checking` for one inside another.
    public var name: String
    /// The number of compound states around it.
    public var depth: Int
    /// The indices of the states inside, at any depth, that have none inside themselves.
    public var states: [Int]
    /// The index of the state to which a rule leads that names the compound state.
    public var initial: Int
    /// The index of the state to which its history leads while nothing is remembered.
    public var historyInitial: Int
}

/// The state inside a compound state that was left last, and a program for each state that this may be.
public struct HistoryProgram: Sendable {
    /// The index of the compound state.
    public var compound: Int
    /// A Boolean value that indicates whether the state at any depth is meant; otherwise the compound state leads to the initial
    /// state of the one directly inside.
    public var isDeep: Bool
    /// By the index of the remembered state, the program for the state to which it leads.
    public var programs: [Int: StateProgram]
    /// The program while no state is remembered; nil: the initial state needs data that the rule does not set, so the rule does not
    /// apply.
    public var initial: StateProgram?
}

extension TransitionRule.Outcome {
    /// The programs for the states that it may enter.
    package var entered: [StateProgram] {
        switch self {
        case .to(let program): [program]
        case .history(let history):
            [history.initial].compactMap(\.self) + history.programs.sorted { $0.key < $1.key }.map(\.value)
        case .update, .stay, .input: []
        }
    }

    /// A Boolean value that indicates whether the rule applies only if a state is remembered.
    package var needsMemory: Bool { if case .history(let history) = self { history.initial == nil } else { false } }

    /// A program with all fields that the rule sets; nil: it makes no data.
    package var setting: StateProgram? {
        switch self {
        case .to(let program), .update(let program): program
        case .history(let history): history.initial ?? history.programs.min { $0.key < $1.key }?.value
        case .stay, .input: nil
        }
    }
}

extension SystemDefinition {
    /// Returns the names of some states, with that of a compound state in place of all states inside it.
    public func names(of states: [Int]) -> [String] {
        var names: [String] = []
        var rest = states
        // Those around others come first.
        for compound in compounds where compound.states.allSatisfy(rest.contains) {
            names.append(compound.name)
            rest.removeAll(where: compound.states.contains)
        }
        return names + rest.map { self.states[$0].name }
    }

    /// Returns whether a state lies in a compound state.
    package func isState(_ state: Int, in compound: Int) -> Bool { states[state].compounds.contains(compound) }
}
