import TestSupport

/// A random machine, and an interpreter of its meaning that shares nothing with the host.
struct RandomMachine {
    /// The owner of rules: a state without others inside, a compound state, or any state.
    enum Node: Hashable { case leaf(Int), compound(Int), any }
    /// A rule of `always` or `done` by its place.
    struct Key: Hashable { var node: Node, isDone: Bool, index: Int }
    struct Wait { var rule: Key, due: Int? }
    struct Timer { var visit: Int, due: Int? }
    struct Endless: Error {}

    let tree: RandomTree
    private let nodes: [Node]
    private var rules: [Node: [[RandomRule]]] = [:]
    private var always: [Node: [RandomRule]] = [:]
    private var done: [RandomRule] = []
    /// The time, in tenths of a second.
    private(set) var now = 0
    private var state = 0
    private var entered = 0
    private var visit = 0
    private(set) var count: Int64 = 0
    private var own: Int64?
    private(set) var level: Int64 = 0
    private(set) var flag = true
    private var stays: [(compound: Int, visit: Int)] = []
    private var left: [Int: (leaf: Int, own: Int64?)] = [:]
    private var waits: [Wait] = []
    /// The waits of the feedbacks: one over a compound state, and one in a state.
    private var timers: [Timer?] = [nil, nil]

    /// The delays of the feedbacks.
    private static let delays = [19, 31]

    init(_ dice: inout Dice) {
        let tree = RandomTree(&dice)
        self.tree = tree
        func list(_ most: Int, isAlways: Bool, _ dice: inout Dice) -> [RandomRule] {
            var rules = (0..<Int.random(in: 0...most, using: &dice)).map { _ in
                RandomRule(&dice, tree, isAlways: isAlways)
            }
            // Only the last rule may hold in any case.
            if let first = rules.firstIndex(where: \.isLast) { rules = Array(rules[...first]) }
            return rules
        }
        nodes = tree.leaves.indices.map { .leaf($0) } + tree.compounds.indices.map { .compound($0) } + [.any]
        for node in nodes {
            if case .leaf(let leaf) = node, leaf == tree.final { continue }
            let isLeaf = if case .leaf = node { true } else { false }
            rules[node] = (0..<2).map { _ in list(isLeaf ? 2 : 1, isAlways: false, &dice) }
            always[node] = list(isLeaf ? 2 : 1, isAlways: true, &dice)
        }
        if tree.final != nil { done = list(2, isAlways: true, &dice) }
        own = tree.hasOwn[0] ? 0 : nil
        stays = tree.around(0).map { ($0, 0) }
    }

    private func name(_ node: Node) -> String {
        switch node {
        case .leaf(let leaf): tree.leaves[leaf]
        case .compound(let compound): tree.compounds[compound]
        case .any: "any"
        }
    }

    var text: String {
        func listed(_ rules: [RandomRule]) -> String { "[" + rules.map { $0.text(tree) }.joined(separator: ", ") + "]" }
        var rows: [String] = []
        for node in nodes {
            var entries = (rules[node] ?? []).enumerated().filter { !$0.element.isEmpty }.map {
                "E\($0.offset): \(listed($0.element))"
            }
            if let rules = always[node], !rules.isEmpty { entries.append("always: \(listed(rules))") }
            if let owner = ownerOfDone, node == .compound(owner), !done.isEmpty {
                entries.append("done.\(tree.compounds[owner]): \(listed(done))")
            }
            if !entries.isEmpty { rows.append("  \(name(node)): { \(entries.joined(separator: ", ")) }") }
        }
        let over = tree.compounds.first.map {
            "\n  over: { onState: \($0), after: \(Self.delays[0] * 100)ms, emit: { E1: { v: 3 } } }"
        }
        let inputs = tree.hasInputs ? "inputs: { a: int, b: bool }" : "unhandled: ignore"
        let system = """
            system: machine
            \(inputs)
            \(tree.text)
            events: { E0: { v: int }, E1: { v: int } }
            fromOutside: any
            feedbacks:
              in: { onState: \(tree.leaves[1]), after: \(Self.delays[1] * 100)ms, emit: { E0: { v: 2 } } }\(over ?? "")
            transitions:\(rows.isEmpty ? " {}" : "\n" + rows.joined(separator: "\n"))

            """
        guard tree.hasInputs else { return system }
        return system + """
            ---
            buses:
              a: { kind: currentValue, value: int, initial: 0, fromOutside: write }
              b: { kind: currentValue, value: bool, initial: true, fromOutside: write }
            links:
              a: { attach: machine, to: a, setInput: a }
              b: { attach: machine, to: b, setInput: b }

            """
    }

    private var ownerOfDone: Int? { tree.final.flatMap { tree.around($0).last } }

    /// The nodes whose rules count in the present state, in their order.
    private var active: [Node] { [.leaf(state)] + tree.around(state).reversed().map { .compound($0) } + [.any] }

    /// The rules of `always` and `done` that are tried in the present state, in their order.
    private var levelRules: [Key] {
        var keys: [Key] = []
        for node in active {
            keys += (always[node] ?? []).indices.map { Key(node: node, isDone: false, index: $0) }
            if let owner = ownerOfDone, node == .compound(owner), state == tree.final {
                keys += done.indices.map { Key(node: node, isDone: true, index: $0) }
            }
        }
        return keys
    }

    private func rule(_ key: Key) -> RandomRule { key.isDone ? done[key.index] : (always[key.node] ?? [])[key.index] }

    /// Returns whether a rule holds, and can apply.
    private func holds(_ rule: RandomRule, _ sent: Int64) -> Bool {
        if let condition = rule.condition, !condition.holds(self, sent) { return false }
        guard case .history(let compound, _) = rule.target, left[compound] == nil else { return true }
        return !tree.hasOwn[tree.initial(compound)] || own != nil
    }

    mutating func begin() throws {
        try settle()
        watch()
    }

    mutating func take(_ event: Int, _ sent: Int64) throws {
        for node in active {
            guard let rule = rules[node]?[event].first(where: { holds($0, sent) }) else { continue }
            if apply(rule) { try settle() }
            return watch()
        }
    }

    mutating func set(level: Int64) throws {
        guard level != self.level else { return }
        self.level = level
        try settle()
        watch()
    }

    mutating func set(flag: Bool) throws {
        guard flag != self.flag else { return }
        self.flag = flag
        try settle()
        watch()
    }

    /// Lets time pass. Two things that are due at the same time have no order, and end the comparison.
    mutating func pass(_ time: Int) throws {
        let end = now + time
        while let due = (waits.compactMap(\.due) + timers.compactMap { $0?.due }).min(), due <= end {
            let ready = waits.indices.filter { waits[$0].due == due }
            let timed = timers.indices.filter { timers[$0]?.due == due }
            guard ready.count + timed.count == 1 else { throw Endless() }
            now = due
            if let timer = timed.first {
                timers[timer]?.due = nil
                try take(timer == 0 ? 1 : 0, timer == 0 ? 3 : 2)
            } else {
                waits[ready[0]].due = nil
                if apply(rule(waits[ready[0]].rule)) { try settle() }
                watch()
            }
        }
        now = end
    }

    /// Applies a rule; false if it changes nothing.
    private mutating func apply(_ rule: RandomRule) -> Bool {
        if case .stay = rule.target { return false }
        switch rule.change {
        case .keep: break
        case .number(let number): count = number
        case .level: count = level
        case .next: count = (count + 1) % 7
        }
        switch rule.target {
        case .stay, .update: break
        case .leaf(let leaf): enter(leaf, own: rule.own)
        case .compound(let compound): enter(tree.initial(compound), own: rule.own, anew: compound)
        case .history(let compound, let isDeep):
            guard let last = left[compound] else {
                enter(tree.initial(compound), own: own ?? 0)
                break
            }
            enter(isDeep ? last.leaf : tree.shallow(last.leaf, in: compound), own: own ?? last.own ?? 0)
        }
        return true
    }

    private mutating func enter(_ leaf: Int, own value: Int64, anew: Int? = nil) {
        visit += 1
        let chain = tree.around(leaf)
        var kept: [(compound: Int, visit: Int)] = []
        for (stay, compound) in zip(stays, chain) {
            guard stay.compound == compound, compound != anew else { break }
            kept.append(stay)
        }
        // A compound state remembers the last state when the one directly inside it ends.
        for (depth, stay) in stays.enumerated() where depth + 1 >= kept.count { left[stay.compound] = (state, own) }
        stays = kept + chain.dropFirst(kept.count).map { ($0, visit) }
        state = leaf
        own = tree.hasOwn[leaf] ? value : nil
        entered = now
        let lasting = kept.map { Node.compound($0.compound) }
        let possible = Set(levelRules)
        waits = waits.filter { lasting.contains($0.rule.node) && possible.contains($0.rule) }
    }

    private mutating func settle() throws {
        for _ in 0..<100 {
            var holding: [Key] = []
            var immediate: RandomRule?
            for key in levelRules where immediate == nil && holds(rule(key), 0) {
                if rule(key).hold == nil { immediate = rule(key) } else { holding.append(key) }
            }
            if let immediate, apply(immediate) { continue }
            waits = holding.map { key in
                waits.first { $0.rule == key } ?? Wait(rule: key, due: now + (rule(key).hold ?? 0))
            }
            return
        }
        // The host reports a fault. What then waits is left out here.
        throw Endless()
    }

    /// Begins and ends the waits of the feedbacks, which see only the end of a step.
    private mutating func watch() {
        let visits = [stays.first { $0.compound == 0 }?.visit, state == 1 ? visit : nil]
        for (timer, visit) in visits.enumerated() where timers[timer]?.visit != visit {
            timers[timer] = visit.map { Timer(visit: $0, due: now + Self.delays[timer]) }
        }
    }

    var described: String {
        "\(tree.leaves[state]) \(count)\(own.map { " \($0)" } ?? "")\(tree.hasInputs ? ", \(level), \(flag)" : ""), since \(entered)"
    }
}
