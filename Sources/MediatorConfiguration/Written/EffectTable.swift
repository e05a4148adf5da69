/// The catalogue of side effects by name.
struct EffectTable {
    /// The role of a key of a feedback.
    enum Role {
        /// One that every feedback may have.
        case key
        /// The name of a side effect.
        case effect(EffectSchema)
        /// An outcome of some side effect.
        case outcome
        /// Nothing that there is.
        case none

        /// A Boolean value that indicates whether it is nothing.
        var isNone: Bool { if case .none = self { true } else { false } }
    }

    /// The names, in the catalogue's order.
    let names: [String]
    /// The outcomes' names of all.
    let outcomes: [String]
    /// All keys that there are in feedbacks.
    let feedbackKeys: [String]
    private let byName: [String: EffectSchema]
    private let outcomeSet: Set<String>

    /// A table of a catalogue; of two with one name the first counts.
    init(_ effects: [EffectSchema]) {
        names = effects.map(\.name)
        byName = Dictionary(effects.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var seen: Set<String> = []
        outcomes = (effects.flatMap { $0.outcomes.map(\.name) } + [EffectSchema.timeoutOutcome.name]).filter {
            seen.insert($0).inserted
        }
        outcomeSet = seen
        feedbackKeys = FeedbackDecoder.keys + outcomes + names
    }

    /// The side effect of a name.
    subscript(name: String) -> EffectSchema? { byName[name] }

    /// The role of a key of a feedback. No side effect has the name of a key or of an outcome.
    func role(of key: String) -> Role {
        if FeedbackDecoder.keys.holdsWord(key) { return .key }
        if let effect = byName[key] { return .effect(effect) }
        return outcomeSet.contains(key) ? .outcome : .none
    }
}
