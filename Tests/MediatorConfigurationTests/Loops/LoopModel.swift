/// A small random configuration without data. ``LoopExplorer`` tries out everything that it can do.
struct LoopModel {
    struct System {
        /// By state and event, the next state; nil: the state does not handle the event.
        var rules: [[Int?]]
        /// The events that a state emits at once, and whether leaving the state withdraws them.
        var emissions: [(state: Int, event: Int, isWithdrawn: Bool)] = []
        /// A Boolean value that indicates whether its events also come from outside.
        var isOpen = true
    }

    enum Link {
        case direct(system: Int, state: Int, target: Int, event: Int)
        /// Puts a number on the only bus.
        case write(system: Int, state: Int, value: Int)
        /// Takes a value from the bus; nil: every value.
        case read(value: Int?, system: Int, event: Int)
    }

    var systems: [System] = []
    var links: [Link] = []

    /// Creates a random configuration.
    ///
    /// - Parameters:
    ///   - systems: The number of systems.
    ///   - most: The largest number of states of a system.
    ///   - isOpen: Whether every event also comes from outside.
    init(systems count: Int, states most: Int, isOpen: Bool, using random: inout Random) {
        let events = 2
        for _ in 0..<count {
            let states = Int.random(in: 2...most, using: &random)
            var system = System(
                rules: (0..<states).map { _ in
                    (0..<events).map { _ in
                        Int.random(in: 0..<4, using: &random) == 0 ? nil : Int.random(in: 0..<states, using: &random)
                    }
                })
            if Int.random(in: 0..<3, using: &random) == 0 {
                system.emissions.append(
                    (
                        Int.random(in: 0..<states, using: &random), Int.random(in: 0..<events, using: &random),
                        Bool.random(using: &random)
                    ))
            }
            system.isOpen = isOpen || Bool.random(using: &random)
            systems.append(system)
        }
        func system(_ random: inout Random) -> Int { Int.random(in: 0..<count, using: &random) }
        for _ in 0..<Int.random(in: 1...(count == 1 ? 6 : count + 3), using: &random) {
            let from = system(&random)
            // A system alone sends itself several events in few states.
            let states = count == 1 ? 2 : systems[from].rules.count
            let state = Int.random(in: 0..<states, using: &random)
            let event = Int.random(in: 0..<events, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: links.append(.write(system: from, state: state, value: Int.random(in: 0..<2, using: &random)))
            case 1:
                links.append(
                    .read(value: [nil, 0, 1].randomElement(using: &random) ?? nil, system: from, event: event))
            default: links.append(.direct(system: from, state: state, target: system(&random), event: event))
            }
        }
    }

    /// Returns whether a feedback, rather than a link, writes to the bus. Every other writer is a feedback.
    private static func isPublished(_ link: Int) -> Bool { link % 2 == 1 }

    /// The configuration in YAML.
    var text: String {
        var text = ""
        for (index, system) in systems.enumerated() {
            let states = system.rules.indices.map { "S\($0): {}" }.joined(separator: ", ")
            text += "system: s\(index)\nstates: { \(states) }\nevents: { E0: {}, E1: {} }\ninitialState: S0\n"
            if system.isOpen { text += "fromOutside: any\n" }
            let publications = links.enumerated().compactMap { number, link -> String? in
                guard Self.isPublished(number), case .write(index, let state, let value) = link else { return nil }
                return "  p\(number): { onState: S\(state), publish: { to: b, value: \(value) } }\n"
            }
            if !system.emissions.isEmpty || !publications.isEmpty { text += "feedbacks:\n" }
            for (number, emission) in system.emissions.enumerated() {
                let strategy = emission.isWithdrawn ? "cancelOnNewState" : "continueOnNewState"
                text +=
                    "  f\(number): { onState: S\(emission.state), strategy: \(strategy), emit: E\(emission.event) }\n"
            }
            text += publications.joined()
            let rules = system.rules.enumerated().map { state, targets in
                let targets = targets.enumerated().compactMap { event, target in target.map { "E\(event): S\($0)" } }
                return targets.isEmpty ? "" : "  S\(state): { \(targets.joined(separator: ", ")) }\n"
            }
            text += rules.joined() == "" ? "---\n" : "transitions:\n\(rules.joined())---\n"
        }
        text += "buses: { b: { kind: passthrough, value: int, fromOutside: both } }\nlinks:\n"
        for (index, link) in links.enumerated() {
            switch link {
            case .direct(let system, let state, let target, let event):
                text +=
                    "  l\(index): { attach: s\(system), toSystem: s\(target), onState: S\(state), emitEvent: E\(event) }\n"
            case .write where Self.isPublished(index): break
            case .write(let system, let state, let value):
                text += "  l\(index): { attach: s\(system), to: b, onState: S\(state), emitValue: \(value) }\n"
            case .read(let value, let system, let event):
                let filter = value.map { "onValue: \($0), " } ?? ""
                text += "  l\(index): { attach: s\(system), to: b, \(filter)emitEvent: E\(event) }\n"
            }
        }
        return text
    }
}

/// Tries out everything that a small configuration can do: event by event, as a host does, and in every order of the
/// systems.
struct LoopExplorer {
    /// A waiting event, as a number: the event, plus 2 if leaving the state withdraws it.
    typealias Item = UInt8

    struct Place: Hashable {
        var states: [UInt8]
        var queues: [[Item]]
    }

    /// A waiting event. The explorer follows its effects.
    private struct Followed: Hashable {
        var place: Int
        var system: Int
        var position: Int
    }

    /// The largest number of events that may wait for a system.
    let limit: Int
    /// The largest number of places to explore.
    let largest: Int
    private let model: LoopModel
    private var places: [Place] = []
    private var numbers: [Place: Int] = [:]
    /// A Boolean value that indicates whether there were more places.
    private(set) var isCut = false

    init(_ model: LoopModel, limit: Int, largest: Int) {
        self.model = model
        self.limit = limit
        self.largest = largest
    }

    /// The effects of one activation of a system.
    private struct Turn {
        var place: Place
        /// The events that it made and that had room, each with the receiver, the position in its queue, and whether a
        /// link made it.
        var made: [(system: Int, position: Int, byLink: Bool)] = []
        /// By earlier position in the system's own queue, the new position; nil: the event was removed.
        var moved: [Int?] = []
        /// A Boolean value that indicates whether a full queue drops its oldest event instead of the new one.
        var dropsOldest = false
        /// A Boolean value that indicates whether an event was dropped.
        var hasDropped = false
        /// By other system, the number of its oldest events that were dropped.
        var dropped: [Int: Int] = [:]

        /// Notes that the oldest event of a queue was dropped.
        mutating func madeRoom(in target: Int, of system: Int) {
            made = made.compactMap { one in
                guard one.system == target else { return one }
                return one.position > 0 ? (one.system, one.position - 1, one.byLink) : nil
            }
            if target == system {
                moved = moved.map { $0.flatMap { $0 > 0 ? $0 - 1 : nil } }
            } else {
                dropped[target, default: 0] += 1
            }
        }
    }

    /// Enters a state: withdraws the waiting events of the old one, then emits the events of feedbacks and links.
    private func enter(_ state: Int, of system: Int, _ turn: inout Turn) {
        turn.place.states[system] = UInt8(state)
        var kept: [Item] = []
        var moved: [Int?] = []
        for item in turn.place.queues[system] {
            moved.append(item >= 2 ? nil : kept.count)
            if item < 2 { kept.append(item) }
        }
        turn.place.queues[system] = kept
        turn.moved = turn.moved.map { $0.flatMap { moved[$0] } }
        func send(_ item: Item, to target: Int, byLink: Bool) {
            if turn.place.queues[target].count == limit {
                turn.hasDropped = true
                guard turn.dropsOldest else { return }
                turn.place.queues[target].removeFirst()
                turn.madeRoom(in: target, of: system)
            }
            turn.made.append((target, turn.place.queues[target].count, byLink))
            turn.place.queues[target].append(item)
        }
        for emission in model.systems[system].emissions where emission.state == state {
            send(UInt8(emission.event) + (emission.isWithdrawn ? 2 : 0), to: system, byLink: false)
        }
        for link in model.links {
            switch link {
            case .direct(system, state, let target, let event): send(UInt8(event), to: target, byLink: true)
            case .write(system, state, let value):
                for case .read(let wanted, let target, let event) in model.links where (wanted ?? value) == value {
                    send(UInt8(event), to: target, byLink: true)
                }
            default: break
            }
        }
    }

    /// The possible effects of a system's first waiting event.
    private func turns(of system: Int, at place: Place) -> [Turn] {
        if place.queues[system].isEmpty { return [] }
        let turn = turn(of: system, at: place, dropsOldest: false)
        return turn.hasDropped ? [turn, self.turn(of: system, at: place, dropsOldest: true)] : [turn]
    }

    private func turn(of system: Int, at place: Place, dropsOldest: Bool) -> Turn {
        var turn = Turn(place: place)
        turn.dropsOldest = dropsOldest
        let item = turn.place.queues[system].removeFirst()
        turn.moved = [nil] + (0..<turn.place.queues[system].count).map { $0 }
        let state = Int(place.states[system])
        if let target = model.systems[system].rules[state][Int(item % 2)] { enter(target, of: system, &turn) }
        return turn
    }

    private mutating func number(_ place: Place) -> Int? {
        if let known = numbers[place] { return known }
        guard places.count < largest else {
            isCut = true
            return nil
        }
        numbers[place] = places.count
        places.append(place)
        return places.count - 1
    }

    /// Returns whether an event may start an endless chain of causes: links fire again and again without anything from
    /// outside.
    mutating func findsEndlessChain() -> Bool {
        let count = model.systems.count
        var first = Turn(
            place: Place(states: Array(repeating: 0, count: count), queues: Array(repeating: [], count: count)))
        for system in 0..<count { enter(0, of: system, &first) }
        _ = number(first.place)
        // Find every place that events, also from outside, can lead to.
        var next = 0
        while next < places.count {
            let place = places[next]
            next += 1
            for value in 0...2 {
                var published = place
                for case .read(let wanted, let target, let event) in model.links where (wanted ?? value) == value {
                    if published.queues[target].count < limit { published.queues[target].append(UInt8(event)) }
                }
                _ = number(published)
            }
            for system in 0..<count {
                for turn in turns(of: system, at: place) { _ = number(turn.place) }
                guard model.systems[system].isOpen, place.queues[system].count < limit else { continue }
                for event: Item in 0..<2 {
                    var burst = place
                    burst.queues[system].append(event)
                    _ = number(burst)
                }
            }
        }
        return followsEndlessly()
    }

    /// Follows each event from each place, and looks for a circle with a link in it.
    private mutating func followsEndlessly() -> Bool {
        var nodes: [Followed] = []
        var indices: [Followed: Int] = [:]
        var edges: [[Int]] = []
        var links: [(from: Int, to: Int)] = []
        func index(_ node: Followed) -> Int {
            if let known = indices[node] { return known }
            indices[node] = nodes.count
            nodes.append(node)
            edges.append([])
            return nodes.count - 1
        }
        for (place, queues) in places.map(\.queues).enumerated() {
            for (system, queue) in queues.enumerated() {
                for position in queue.indices { _ = index(Followed(place: place, system: system, position: position)) }
            }
        }
        for node in nodes.indices {
            let followed = nodes[node]
            let place = places[followed.place]
            for system in place.queues.indices {
                for turn in turns(of: system, at: place) {
                    guard let target = numbers[turn.place] else { continue }
                    if system != followed.system {
                        let position = followed.position - turn.dropped[followed.system, default: 0]
                        guard position >= 0 else { continue }
                        edges[node].append(
                            index(Followed(place: target, system: followed.system, position: position)))
                    } else if followed.position > 0 {
                        guard let position = turn.moved[followed.position] else { continue }
                        edges[node].append(index(Followed(place: target, system: system, position: position)))
                    } else {
                        for made in turn.made {
                            let next = index(Followed(place: target, system: made.system, position: made.position))
                            edges[node].append(next)
                            if made.byLink { links.append((node, next)) }
                        }
                    }
                }
            }
        }
        let components = components(edges)
        return links.contains { components[$0.from] == components[$0.to] }
    }

    /// The strongly connected components (S. Kosaraju's two searches).
    private func components(_ edges: [[Int]]) -> [Int] {
        var back = Array(repeating: [Int](), count: edges.count)
        for (node, targets) in edges.enumerated() { for target in targets { back[target].append(node) } }
        var seen = Array(repeating: false, count: edges.count)
        var order: [Int] = []
        for root in edges.indices where !seen[root] {
            seen[root] = true
            var path = [(node: root, next: 0)]
            while let (node, next) = path.last {
                if next < edges[node].count {
                    path[path.count - 1].next += 1
                    let target = edges[node][next]
                    if !seen[target] {
                        seen[target] = true
                        path.append((target, 0))
                    }
                } else {
                    order.append(node)
                    path.removeLast()
                }
            }
        }
        var component = Array(repeating: -1, count: edges.count)
        for (number, root) in order.reversed().enumerated() where component[root] < 0 {
            component[root] = number
            var waiting = [root]
            while let node = waiting.popLast() {
                for target in back[node] where component[target] < 0 {
                    component[target] = number
                    waiting.append(target)
                }
            }
        }
        return component
    }
}
