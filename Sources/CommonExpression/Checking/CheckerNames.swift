/// Qualified names: variables such as `a.b`, and functions with a namespace such as `strings.quote` (CEL specification,
/// "Name Resolution").
extension Checker {
    /// The result of the pass over qualified names.
    struct QualifiedNames {
        /// The variables of nodes with qualified names.
        var slots: [SyntaxTree.ID: Int] = [:]
        /// The types of nodes with qualified names.
        var types: [SyntaxTree.ID: ValueType] = [:]
        /// The calls of functions that a namespace does not have, with their full names.
        var unknownFunctions: [SyntaxTree.ID: SyntaxTree.Name] = [:]
        /// The nodes that only form part of a qualified name; they are not checked.
        var covered: Set<SyntaxTree.ID> = []
    }

    /// Finds variables and types with qualified names, of which the longest wins. Turns calls of functions with a
    /// namespace into calls without a receiver.
    mutating func resolveQualifiedNames() -> QualifiedNames {
        var names = QualifiedNames()
        for id in tree.nodes.indices.reversed() where !names.covered.contains(id) {
            switch tree.nodes[id].kind {
            case .call(let function, true, let operands):
                resolveCall(id, function, operands, &names)
            case .select:
                let longest = max(qualifierDepth, ValueType.denotationDepth)
                guard qualifierDepth > 0 || mayDenoteType(id) else { continue }
                guard let (name, nodes) = spelledName(of: id, longest: longest) else { continue }
                if let slot = slots[name] {
                    names.slots[id] = slot
                } else if let type = ValueType.denotations[name], !isVariable(name) {
                    names.types[id] = type
                } else {
                    continue
                }
                names.covered.formUnion(nodes.dropFirst())
            default: continue
            }
        }
        return names
    }

    /// Returns whether a chain of selections begins like the qualified names of types.
    private func mayDenoteType(_ id: SyntaxTree.ID) -> Bool {
        var current = id
        while case .select(let operand, _) = tree.nodes[current].kind { current = operand }
        guard case .variable(let name) = tree.nodes[current].kind else { return false }
        return ValueType.denotationRoots.contains(name)
    }

    /// Returns the structure type of a name among the types of the variables and their parts; nil if no type, or
    /// several different types, have the name.
    func structureType(named name: String) -> StructureType? {
        guard !name.isEmpty else { return nil }
        var found: StructureType?
        var seen: Set<ObjectIdentifier> = []
        var open = environment.variables.map(\.type) + environment.constants.map(\.type)
        while let type = open.popLast() {
            switch type {
            case .list(let element), .optional(let element): open.append(element)
            case .map(let key, let value): open += [key, value]
            case .structure(let structure) where seen.insert(ObjectIdentifier(structure.declaration)).inserted:
                if structure.name.hasSameScalars(as: name) {
                    guard found == nil || found == structure else { return nil }
                    found = structure
                }
                open += structure.fields.map(\.type)
            default: continue
            }
        }
        return found
    }

    /// Returns the host function of a name, otherwise the standard function.
    func function(named name: String, isMember: Bool) -> Function? {
        if let declaration = hostFunctions[name] { return .host(declaration, isMember: isMember) }
        if !isMember, let function = Functions.ofMemberNames[name] { return function }
        return Functions.all[name]
    }

    private mutating func resolveCall(
        _ id: SyntaxTree.ID, _ function: SyntaxTree.Name, _ operands: [SyntaxTree.ID], _ names: inout QualifiedNames
    ) {
        guard let (namespace, nodes) = spelledName(of: operands[0], longest: namespaceDepth),
            namespaces.contains(namespace)
        else { return }
        let name = namespace + "." + function.text
        let range = range(of: operands[0]).joined(with: function.range)
        if self.function(named: name, isMember: false) != nil {
            checked.tree.nodes[id].kind = .call(
                function: SyntaxTree.Name(text: name, range: range), hasReceiver: false,
                operands: Array(operands.dropFirst()))
            names.covered.formUnion(nodes)
        } else if !isVariable(namespace) {
            names.covered.formUnion(nodes)
            names.unknownFunctions[id] = SyntaxTree.Name(text: name, range: range)
        }
    }

    /// Returns whether a name, or a qualified name that begins with it, is a variable.
    private func isVariable(_ name: String) -> Bool {
        var parts = name.split(separator: ".")
        while !parts.isEmpty {
            if slots[parts.joined(separator: ".")] != nil { return true }
            parts.removeLast()
        }
        return false
    }

    /// Returns the name that a variable or a chain of selections spells, and its nodes from the last to the first.
    /// Returns nil for other nodes and for names with more points than the longest.
    private func spelledName(of id: SyntaxTree.ID, longest: Int) -> (name: String, nodes: [SyntaxTree.ID])? {
        var nodes: [SyntaxTree.ID] = []
        var parts: [String] = []
        var current = id
        while parts.count <= longest {
            nodes.append(current)
            switch tree.nodes[current].kind {
            case .variable(let name):
                parts.append(name)
                return (parts.reversed().joined(separator: "."), nodes)
            case .select(let operand, let name) where !tree.nodes[operand].isParenthesized:
                parts.append(name.text)
                current = operand
            default:
                return nil
            }
        }
        return nil
    }
}
