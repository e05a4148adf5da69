/// A right to the control socket. Each right includes those before it.
public enum AccessRight: String, Sendable, Hashable, CaseIterable, Comparable {
    /// To look: states, values, definitions, metrics.
    case read
    /// To put events into systems and values on buses.
    case inject
    /// All rights: to change the configuration, and to see its text.
    case administer

    /// Orders by inclusion.
    public static func < (left: AccessRight, right: AccessRight) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .read: 0
        case .inject: 1
        case .administer: 2
        }
    }
}

/// The configured grants. Each adds to the others; none takes a right away.
///
/// Users and groups are given by name. The accounts of the machine are not known here.
public struct AccessRules: Sendable, Hashable {
    /// The largest number of users, groups, systems and buses that all grants together may name.
    public static let limit = 1_000

    /// The grants, in the order in which they are written, file by file.
    public var grants: [AccessGrant]

    /// Rules of the given grants.
    public init(grants: [AccessGrant] = []) {
        self.grants = grants
    }

    /// Returns whether two say the same, wherever and in whatever order it is written.
    public func means(_ other: AccessRules) -> Bool { Set(grants) == Set(other.grants) }

    /// The differences from old rules in words: `now: user alice may inject into door; no longer: members of adm may
    /// read`.
    public func difference(from old: AccessRules) -> String {
        let (before, now) = (Set(old.grants.flatMap(\.sentences)), Set(grants.flatMap(\.sentences)))
        func list(_ sentences: Set<String>) -> String {
            let sorted = sentences.sorted()
            let left = sorted.count - Self.mostTold
            return sorted.prefix(Self.mostTold).joined(separator: ", ") + (left > 0 ? ", and \(left) more" : "")
        }
        let (gained, lost) = (now.subtracting(before), before.subtracting(now))
        return [gained.isEmpty ? nil : "now: \(list(gained))", lost.isEmpty ? nil : "no longer: \(list(lost))"]
            .compactMap(\.self).joined(separator: "; ")
    }

    /// The largest number of grants whose contents are shown. A grant is one right for one account.
    private static let mostTold = 8
}

/// A right for some users and groups. Two are equal if they say the same, wherever that is written.
public struct AccessGrant: Sendable, Hashable {
    /// A user or group, as written: a name, or a number.
    public struct Account: Sendable {
        /// The name or number; `*` of users: everybody.
        public let text: String
        /// The diagnostic for a user or group that does not exist.
        public let unknown: Diagnostic

        /// A user or group.
        public init(text: String, unknown: Diagnostic) {
            self.text = text
            self.unknown = unknown
        }
    }

    /// The word for every user.
    public static let everybody = "*"

    /// The right.
    public let right: AccessRight
    /// The users who have it.
    public let users: [Account]
    /// The groups whose members have it.
    public let groups: [Account]
    /// Into which systems and on which buses; nil: all.
    public let targets: Targets?
    /// The place of the grant.
    public let source: SourceLocation

    /// Systems and buses, by patterns of their names.
    public struct Targets: Sendable, Hashable {
        /// Patterns of which one matches the name of a system.
        public var systems: Set<NamePattern>
        /// Patterns of which one matches the name of a bus.
        public var buses: Set<NamePattern>

        /// The systems and buses of some patterns.
        public init(systems: Set<NamePattern>, buses: Set<NamePattern>) {
            self.systems = systems
            self.buses = buses
        }
    }

    /// A grant.
    public init(
        right: AccessRight, users: [Account], groups: [Account], targets: Targets? = nil, source: SourceLocation
    ) {
        self.right = right
        self.users = users
        self.groups = groups
        self.targets = targets
        self.source = source
    }

    /// The contents, for each account.
    fileprivate var sentences: [String] {
        func names(_ patterns: Set<NamePattern>) -> String { patterns.map(\.text).sorted().joined(separator: " ") }
        let limits = targets.map { targets in
            [
                targets.systems.isEmpty ? nil : " into \(names(targets.systems))",
                targets.buses.isEmpty ? nil : " on \(names(targets.buses))",
            ].compactMap(\.self).joined(separator: " and")
        }
        let what = "may \(right.rawValue)\(limits ?? "")"
        return users.map { $0.text == Self.everybody ? "everybody \(what)" : "user \($0.text) \(what)" }
            + groups.map { "members of \($0.text) \(what)" }
    }

    private struct Meaning: Hashable {
        var right: AccessRight
        var users: Set<String>
        var groups: Set<String>
        var targets: Targets?
    }

    private var meaning: Meaning {
        Meaning(right: right, users: Set(users.map(\.text)), groups: Set(groups.map(\.text)), targets: targets)
    }

    /// Returns whether both say the same.
    public static func == (left: AccessGrant, right: AccessGrant) -> Bool { left.meaning == right.meaning }

    /// Hashes the contents.
    public func hash(into hasher: inout Hasher) { hasher.combine(meaning) }
}

/// A pattern of names, in which each `*` stands for any characters, also for none.
public struct NamePattern: Sendable, Hashable, CustomStringConvertible {
    /// As written.
    public let text: String

    /// A pattern.
    public init(_ text: String) {
        self.text = text
    }

    /// As written.
    public var description: String { text }

    /// A Boolean value that indicates whether there is a `*` in it.
    public var isWild: Bool { text.utf8.contains(Self.star) }

    private static let star = UInt8(ascii: "*")

    /// Returns whether a name is of this pattern. At most the product of both lengths in time, without recursion: of
    /// several `*` only the last one seen is ever tried again.
    public func matches(_ name: String) -> Bool {
        let (pattern, name) = (Array(text.utf8), Array(name.utf8))
        var (at, place) = (0, 0)
        var retry: (at: Int, place: Int)?
        while place < name.count {
            if at < pattern.count, pattern[at] == Self.star {
                retry = (at + 1, place)
                at += 1
            } else if at < pattern.count, pattern[at] == name[place] {
                at += 1
                place += 1
            } else if let (after, from) = retry {
                retry = (after, from + 1)
                at = after
                place = from + 1
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == Self.star }
    }
}
