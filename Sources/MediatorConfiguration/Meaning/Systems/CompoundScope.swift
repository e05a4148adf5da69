import CommonExpression

/// The compound states of a system as others see them.
struct CompoundScope: Sendable {
    /// The compound states, those around others before them.
    let definitions: [CompoundDefinition]
    /// The data that the states inside each have in common.
    let types: [StructureType]
    /// By compound state, whether some of these fields could not be read.
    let isBroken: [Bool]
    /// Their names.
    let names: NameTable
    /// By state that has none inside, the compound states around it, the outermost first.
    let around: [[Int]]

    /// No compound states.
    static let none = CompoundScope([], [:], [], 0)

    private init(
        _ definitions: [CompoundDefinition], _ around: [Int: [Int]], _ types: [(StructureType, Bool)], _ count: Int
    ) {
        self.definitions = definitions
        self.types = types.map(\.0)
        isBroken = types.map(\.1)
        var names = NameTable()
        for each in definitions { _ = names.insert(each.name) }
        self.names = names
        self.around = definitions.isEmpty ? [] : (0..<count).map { around[$0] ?? [] }
    }

    /// Finds the compound states among written ones.
    ///
    /// - Parameters:
    ///   - records: All states with their own fields, by unique names.
    ///   - initials: By the name of a compound state, the name of its initial state. By its name with `.history`, the name of the
    ///     state to which its history leads first.
    ///   - type: Makes a type of a name and fields.
    /// - Returns: The compound states, and the others with all their fields.
    static func of(
        _ records: [(record: WrittenRecord, fields: [StructureType.Field])], initials: [String: String],
        _ type: (String, [StructureType.Field]) -> StructureType
    ) -> (scope: CompoundScope, states: [(record: WrittenRecord, fields: [StructureType.Field])]) {
        let parents = Set(records.map(\.record.name.text).filter(Names.isStateName).compactMap(Names.around))
        guard !parents.isEmpty else { return (.none, records) }
        let known = Dictionary(
            records.map { ($0.record.name.text, $0) }, uniquingKeysWith: { first, _ in first })
        /// The names of the states around one, the outermost first, those that are missing left out.
        func chain(_ name: String) -> [String] {
            var names: [String] = []
            var inner = name
            while let outer = Names.around(inner) {
                // A state that is missing between is reported, and makes none of those around it.
                if known[outer] != nil, parents.contains(outer) { names.append(outer) }
                inner = outer
            }
            return names.reversed()
        }
        /// The fields of a state with those of the states around it. A name that stands twice is an error, which is reported.
        func fields(_ name: String) -> (fields: [StructureType.Field], isBroken: Bool) {
            var fields: [StructureType.Field] = []
            var isBroken = false
            for each in (chain(name) + [name]).compactMap({ known[$0] }) {
                isBroken = isBroken || each.record.isBroken
                fields += each.fields.filter { field in !fields.contains { $0.name == field.name } }
            }
            return (fields, isBroken)
        }
        let isCompound = { (name: String) in parents.contains(name) && known[name] != nil }
        let leaves = records.filter { !isCompound($0.record.name.text) }
        let names = leaves.map(\.record.name.text)
        // A state comes after those around it, as the number of dots in their names says.
        let compounds = records.map(\.record.name.text).filter(isCompound).enumerated().sorted {
            (chain($0.element).count, $0.offset) < (chain($1.element).count, $1.offset)
        }.map(\.element)
        let places = Dictionary(uniqueKeysWithValues: compounds.enumerated().map { ($1, $0) })
        /// The state without others inside to which a rule leads that names this one.
        func initial(_ name: String) -> Int {
            var name = name
            // Each step goes one deeper.
            while isCompound(name) {
                let inside = records.lazy.map(\.record.name.text).filter { Names.around($0) == name }
                let written = initials[name].flatMap { child in inside.first { $0 == child } }
                guard let next = written ?? inside.first else { break }
                name = next
            }
            return names.firstIndex(of: name) ?? 0
        }
        var definitions: [CompoundDefinition] = []
        var types: [(StructureType, Bool)] = []
        for name in compounds {
            let chain = chain(name)
            definitions.append(
                CompoundDefinition(
                    name: name, depth: chain.count,
                    states: names.indices.filter { Names.isState(names[$0], in: name) }, initial: initial(name),
                    historyInitial: initial(initials["\(name).\(Names.history)"] ?? name)))
            let (fields, isBroken) = fields(name)
            types.append((type(name, fields), isBroken))
        }
        var around: [Int: [Int]] = [:]
        for (index, name) in names.enumerated() { around[index] = chain(name).compactMap { places[$0] } }
        let whole = leaves.map { leaf in
            let (fields, isBroken) = fields(leaf.record.name.text)
            var record = leaf.record
            record.isBroken = isBroken
            return (record: record, fields: fields)
        }
        return (CompoundScope(definitions, around, types, names.count), whole)
    }
}
