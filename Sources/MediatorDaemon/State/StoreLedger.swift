package import CommonExpression
package import Durability

/// The names of the states in a store, and the times of their commits. It has no lock or clock, and does not read the disk.
package struct StoreLedger: Sendable {
    /// The states in the store, with the times of their commits; `nil` for those of an earlier life.
    private(set) var rows: [PartKey: Timestamp?] = [:]
    /// The parts that go on from the state of an earlier life.
    package var restored: Set<PartKey> = []
    /// The time of the last commit of an earlier life, if there was one.
    private(set) var earlier: Timestamp?
    /// The damage that was found at the opening, a line each. Further damage is only in the log.
    private(set) var damage: [String] = []
    /// The parts whose last encoded change is a removal, like those that the store remembers.
    private var removals: Set<PartKey> = []

    package init() {}

    /// Begins with the contents of a store that was opened.
    init(_ contents: StoreContents, in directory: String) {
        rows = Dictionary(contents.parts.map { ($0.key, nil) }) { _, last in last }
        damage = contents.flaws.prefix(StoreKeeper.mostLines).map { $0.explained(in: directory).text }
        if contents.head.order > 0 { earlier = Timestamp(nanoseconds: contents.head.time.wall) }
    }

    /// Notes whether the newest change of a part removes its state. The changes of a commit are encoded before the first outcome.
    package mutating func willStore(_ key: PartKey, isRemoved: Bool) {
        if isRemoved { removals.insert(key) } else { removals.remove(key) }
    }

    /// Notes that a commit of a part is on the disk.
    package mutating func hasStored(_ key: PartKey, at time: Timestamp) {
        if removals.contains(key) { hasForgotten(key) } else { rows[key] = .some(time) }
    }

    /// Notes that the store has no state of a part any more. A later part of this name starts without one.
    package mutating func hasForgotten(_ key: PartKey) {
        rows[key] = nil
        restored.remove(key)
    }

    /// Returns whether the store has a state of a part.
    package func has(_ key: PartKey) -> Bool { rows[key] != nil }

    /// Returns the time of the commit of a part's state; `nil` without a state, and for a state of an earlier life.
    package func time(of key: PartKey) -> Timestamp? { rows[key] ?? nil }

    /// Returns the parts with a state and those of a set, by kind and name.
    package func keys(with others: Set<PartKey>) -> [PartKey] {
        others.union(rows.keys).sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
    }
}

extension Timestamp {
    /// Creates a time from the nanoseconds since 1970; `nil` outside the years 1 to 9999.
    init?(nanoseconds: Int64) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(seconds: rest < 0 ? seconds - 1 : seconds, nanoseconds: Int32(rest < 0 ? rest + 1_000_000_000 : rest))
    }
}
