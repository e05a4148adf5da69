import TestSupport

/// A condition of a random machine, written and understood.
indirect enum RandomCondition {
    case levelOver(Int64), levelUnder(Int64), flag(Bool), countOver(Int64), sentOver(Int64)
    case both(RandomCondition, RandomCondition)

    init(_ dice: inout Dice, isOfEvent: Bool, depth: Int = 0) {
        let number = Int64.random(in: 0...4, using: &dice)
        self =
            switch Int.random(in: 0..<(depth == 0 ? 7 : 5), using: &dice) {
            case 0: .levelOver(number)
            case 1: .levelUnder(number)
            case 2: .flag(number > 2)
            case 3: .countOver(number)
            case 4: isOfEvent ? .sentOver(number) : .flag(number > 1)
            default:
                .both(
                    RandomCondition(&dice, isOfEvent: isOfEvent, depth: 1),
                    RandomCondition(&dice, isOfEvent: isOfEvent, depth: 1))
            }
    }

    /// The same condition without inputs.
    var ofState: RandomCondition {
        switch self {
        case .levelOver(let number), .levelUnder(let number): .countOver(number)
        case .flag(let flag): .countOver(flag ? 2 : 0)
        case .countOver, .sentOver: self
        case .both(let one, let other): .both(one.ofState, other.ofState)
        }
    }

    var text: String {
        switch self {
        case .levelOver(let number): "input.a > \(number)"
        case .levelUnder(let number): "input.a < \(number)"
        case .flag(let flag): flag ? "input.b" : "!input.b"
        case .countOver(let number): "state.n > \(number)"
        case .sentOver(let number): "event.v > \(number)"
        case .both(let one, let other): "\(one.text) && \(other.text)"
        }
    }

    func holds(_ machine: RandomMachine, _ sent: Int64) -> Bool {
        switch self {
        case .levelOver(let number): machine.level > number
        case .levelUnder(let number): machine.level < number
        case .flag(let flag): machine.flag == flag
        case .countOver(let number): machine.count > number
        case .sentOver(let number): sent > number
        case .both(let one, let other): one.holds(machine, sent) && other.holds(machine, sent)
        }
    }
}

/// The states of a random machine, which may lie in each other.
struct RandomTree {
    /// The states that have none inside: full names.
    let leaves: [String]
    /// By such a state, whether it has a field of its own.
    let hasOwn: [Bool]
    /// The compound states, the outer ones first.
    let compounds: [String]
    /// By compound state, the name of the state directly inside that is entered.
    private let children: [String]
    /// The final state; it lies in a compound state.
    let final: Int?
    /// A Boolean value that indicates whether the machine has inputs.
    let hasInputs: Bool

    init(_ dice: inout Dice) {
        let flat = Bool.random(using: &dice)
        hasInputs = Int.random(in: 0..<4, using: &dice) > 0
        leaves = (0..<Int.random(in: 2...5, using: &dice)).map { number in
            let place = flat ? "" : ["", "", "A.", "A.B.", "A.B.", "C."].randomElement(using: &dice) ?? ""
            return "\(place)S\(number)"
        }
        hasOwn = leaves.map { _ in Int.random(in: 0..<3, using: &dice) == 0 }
        let leaves = leaves
        let compounds = ["A", "C", "A.B"].filter { name in leaves.contains { $0.hasPrefix("\(name).") } }
        self.compounds = compounds
        children = compounds.map { name in
            let inside = (compounds + leaves).filter { $0.hasPrefix("\(name).") }.map { $0.dropFirst(name.count + 1) }
            let direct = inside.filter { !$0.contains(".") }
            return direct.randomElement(using: &dice).map(String.init) ?? ""
        }
        let nested = leaves.indices.filter { leaves[$0].contains(".") }
        final = Bool.random(using: &dice) ? nested.randomElement(using: &dice) : nil
    }

    /// The compound states around a state, the outermost first.
    func around(_ leaf: Int) -> [Int] { compounds.indices.filter { leaves[leaf].hasPrefix("\(compounds[$0]).") } }

    /// The state in which a compound state begins.
    func initial(_ compound: Int) -> Int {
        let child = "\(compounds[compound]).\(children[compound])"
        return leaves.firstIndex(of: child) ?? compounds.firstIndex(of: child).map(initial) ?? 0
    }

    /// The state to which the shallow history of a compound state leads from a remembered one.
    func shallow(_ leaf: Int, in compound: Int) -> Int {
        let chain = around(leaf)
        let place = chain.firstIndex(of: compound) ?? 0
        return place + 1 < chain.count ? initial(chain[place + 1]) : leaf
    }

    /// Returns whether the state to which the shallow history leads finds its own data in each remembered one.
    func canBeShallow(_ compound: Int) -> Bool {
        leaves.indices.allSatisfy { leaf in
            !around(leaf).contains(compound) || hasOwn[leaf] || !hasOwn[shallow(leaf, in: compound)]
        }
    }

    var text: String {
        let outer = compounds.map { "\($0): \($0.contains(".") ? "{}" : "{ n: int }")" }
        let inner = leaves.indices.map { leaf in
            let fields = (leaves[leaf].contains(".") ? [] : ["n: int"]) + (hasOwn[leaf] ? ["m: int"] : [])
            return "\(leaves[leaf]): { \(fields.joined(separator: ", ")) }"
        }
        var lines = ["states: { \((outer + inner).joined(separator: ", ")) }"]
        if !compounds.isEmpty {
            lines.append("initial: { \(zip(compounds, children).map { "\($0): \($1)" }.joined(separator: ", ")) }")
        }
        if let final { lines.append("final: \(leaves[final])") }
        lines.append("initialState: { \(leaves[0]): { n: 0\(hasOwn[0] ? ", m: 0" : "") } }")
        return lines.joined(separator: "\n")
    }
}

/// A rule of a random machine.
struct RandomRule {
    enum Change { case keep, number(Int64), level, next }
    enum Target { case leaf(Int), compound(Int), history(Int, isDeep: Bool), update, stay }
    var condition: RandomCondition?
    /// The time for which the condition must hold, in tenths of a second.
    var hold: Int?
    var target: Target
    var change = Change.keep
    /// The value of the own field of the state to which it leads.
    var own: Int64 = 0

    init(_ dice: inout Dice, _ tree: RandomTree, isAlways: Bool) {
        if isAlways || Int.random(in: 0..<4, using: &dice) > 0 {
            condition = RandomCondition(&dice, isOfEvent: !isAlways)
            if !tree.hasInputs { condition = condition?.ofState }
        }
        if isAlways, Bool.random(using: &dice) { hold = [13, 27, 41, 69].randomElement(using: &dice) }
        let leaf = Target.leaf(Int.random(in: tree.leaves.indices, using: &dice))
        let compound = tree.compounds.indices.randomElement(using: &dice)
        switch Int.random(in: 0..<10, using: &dice) {
        case 0 where hold == nil: target = .stay
        case 1, 2: target = .update
        case 3, 4: target = compound.map { .compound($0) } ?? leaf
        case 5, 6:
            let isDeep = Bool.random(using: &dice)
            target = compound.map { .history($0, isDeep: isDeep || !tree.canBeShallow($0)) } ?? leaf
        default: target = leaf
        }
        own = Int64.random(in: 0...9, using: &dice)
        switch target {
        case .stay: break
        case .update:
            change =
                [.number(Int64.random(in: 0...5, using: &dice)), .level, .next].randomElement(using: &dice) ?? .next
        default: change = [.keep, .number(0), .level, .next].randomElement(using: &dice) ?? .keep
        }
        if case .level = change, !tree.hasInputs { change = .next }
    }

    /// A Boolean value that indicates whether no later rule of its list is tried.
    var isLast: Bool {
        if case .history = target { return false }
        return condition == nil && hold == nil
    }

    func text(_ tree: RandomTree) -> String {
        let set: String? =
            switch change {
            case .keep: nil
            case .number(let number): "n: \(number)"
            case .level: "n: \"${input.a}\""
            case .next: "n: \"${(state.n + 1) % 7}\""
            }
        var (to, fields): (String?, [String?]) = (nil, [set])
        switch target {
        case .stay: to = "stay"
        case .update: break
        case .leaf(let leaf):
            to = tree.leaves[leaf]
            if tree.hasOwn[leaf] { fields.append("m: \(own)") }
        case .compound(let compound):
            to = tree.compounds[compound]
            if tree.hasOwn[tree.initial(compound)] { fields.append("m: \(own)") }
        case .history(let compound, let isDeep): to = "\(tree.compounds[compound]).history\(isDeep ? "*" : "")"
        }
        let all = fields.compactMap(\.self)
        let parts: [String?] = [
            condition.map { "when: \"\($0.text)\"" }, hold.map { "for: \($0 * 100)ms" }, to.map { "to: \($0)" },
            all.isEmpty ? nil : "set: { \(all.joined(separator: ", ")) }",
        ]
        return "{ " + parts.compactMap(\.self).joined(separator: ", ") + " }"
    }
}
