import CommonExpression
import MediatorConfiguration
import Testing

/// Compiles one file named `a.yaml`.
func compile(
    _ text: String, effects: [EffectSchema] = EffectSchema.builtin, kinds: [SystemKind] = []
) -> CompilationResult {
    ConfigurationCompiler.compile(
        files: [ConfigurationFile(path: "a.yaml", text: text)], effects: effects, kinds: kinds)
}

/// The printed diagnostics of one file named `a.yaml`.
func messages(_ text: String) -> String {
    compile(text).diagnostics.map { $0.rendered() }.joined(separator: "\n")
}

/// The graph of one file. The file must have no error, and no warning except those about the whole.
func graph(_ text: String, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws -> Graph {
    let result = compile(text)
    let printed = result.partial.map { $0.rendered() }.joined(separator: "\n")
    #expect(printed == "", sourceLocation: sourceLocation)
    return try #require(result.graph, sourceLocation: sourceLocation)
}

extension CompilationResult {
    /// The errors, and the warnings about single parts. A test's file is only a part of a configuration, so warnings
    /// about the whole do not count.
    var partial: [Diagnostic] {
        let own: Set<Diagnostic.Code> = [
            .constantCondition, .literalExpression, .literalQuotes, .shellSyntax, .moot, .unusedDropIn,
            .nothingToRemove,
        ]
        return diagnostics.filter { $0.severity == .error || own.contains($0.code) }
    }
}

/// The graph's only system.
func system(_ text: String, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws -> SystemDefinition {
    try #require(graph(text, sourceLocation: sourceLocation).systems.first, sourceLocation: sourceLocation)
}

extension SystemDefinition {
    /// The index of a state.
    func state(_ name: String) throws -> Int { try #require(states.firstIndex { $0.name == name }) }
    /// The index of an event.
    func event(_ name: String) throws -> Int { try #require(events.firstIndex { $0.name == name }) }

    /// A state's value.
    func value(_ state: String, _ fields: Value...) throws -> Structure {
        Structure(type: states[try self.state(state)].type, fields: fields)
    }

    /// The next state after an event, computed as a host does; nil if no rule applies.
    func next(_ state: Structure, on event: String, _ data: Value..., now: Timestamp) throws -> Structure? {
        let from = try self.state(state.type.name)
        let event = try self.event(event)
        let carried = Structure(type: events[event].type, fields: data)
        let variables: [Value] = [.structure(state), .structure(carried), .timestamp(now)]
        for rule in rules[from][event] {
            if let condition = rule.condition {
                guard try condition.evaluateBool(variables) else { continue }
            }
            switch rule.outcome {
            case .stay, .input, .history: return state
            case .to(let program), .update(let program):
                let fields = try program.fields.map { field in
                    switch field {
                    case .data(let data): try data.evaluate(variables)
                    case .keep(let index), .remembered(let index): state.fields[index]
                    }
                }
                return Structure(type: states[program.state].type, fields: fields)
            }
        }
        return nil
    }
}

/// A broken file and its expected diagnostics.
struct Mistake: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let expected: String

    init(_ name: String, _ text: String, _ expected: String) {
        self.name = name
        self.text = text
        self.expected = expected
    }

    var testDescription: String { name }

    /// Compiles the file and compares its printed diagnostics.
    func check(kinds: [SystemKind] = []) {
        let result = compile(text, kinds: kinds)
        let printed = result.partial.map { $0.rendered() }.joined(separator: "\n")
        #expect(printed == expected)
        #expect((result.graph == nil) == result.diagnostics.contains { $0.severity == .error })
    }
}

/// A generator whose seed is in the test's name (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators").
struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A description of a graph. Fingerprints take the place of programs.
func digest(of graph: Graph?) -> [String] {
    guard let graph else { return [] }
    return graph.systems.map { "\($0.name) \($0.fingerprint) \($0.source) \($0.rules.map { $0.map(\.count) })" }
        + graph.buses.map { "\($0.name) \($0.fingerprint) \($0.source) \($0.initial.map { "\($0)" } ?? "")" }
        + graph.links.map { link in
            let ends =
                switch link.form {
                case .systemToBus(let bus, let selector, _): "\(bus) \(selector.states)"
                case .busToSystem(let bus, _, let event): "\(bus) \(event.event)"
                case .systemToSystem(let target, let selector, let event):
                    "\(target) \(selector.states) \(event.mapValues(\.event).sorted { $0.key < $1.key })"
                }
            return "\(link.name) \(link.fingerprint) \(link.source) \(link.system) \(ends) \(link.summary)"
        } + graph.groups.map { "\($0)" }
}
