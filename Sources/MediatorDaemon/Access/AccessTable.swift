package import MediatorConfiguration
package import Varlink

/// The rights of users, by their numbers. It is a pure value and looks nothing up.
///
/// Root and the daemon's own user may do everything, and nothing takes that away. Members of the group `mediatord` may read.
/// The rest is what the configuration grants.
package struct AccessTable: Sendable {
    /// The group whose members may read; nil if no group has the configured name.
    package static let readers = "mediatord"

    /// A request that needs a right.
    package enum Request: Sendable, Hashable {
        /// To look.
        case read
        /// To inject something, wherever.
        case inject
        /// To put an event into a system of this name.
        case injectInto(system: String)
        /// To put a value on a bus of this name.
        case injectOn(bus: String)
        /// To change something.
        case administer
    }

    /// The peers that must be able to open the socket. The daemon checks their right to connect once more after that.
    package enum Audience: Sendable, Hashable {
        /// The daemon's own user, and root.
        case owner
        /// The members of a group, too.
        case group(UInt32)
        /// Anybody.
        case everybody

        /// The peers that must be able to open the socket under either of two tables.
        package func with(_ other: Audience) -> Audience {
            if self == other || other == .owner { return self }
            return self == .owner ? other : .everybody
        }
    }

    private struct Rule: Sendable {
        var right: AccessRight
        var targets: AccessGrant.Targets?

        func grants(_ request: Request) -> Bool {
            switch request {
            case .read: return true
            case .administer: return right == .administer
            case .inject: return right >= .inject
            case .injectInto(let system):
                guard right == .inject, let targets else { return right >= .inject }
                return targets.systems.contains { $0.matches(system) }
            case .injectOn(let bus):
                guard right == .inject, let targets else { return right >= .inject }
                return targets.buses.contains { $0.matches(bus) }
            }
        }
    }

    private let own: UInt32
    private var users: [UInt32: [Rule]] = [:]
    private var groups: [UInt32: [Rule]] = [:]
    private var everybody: [Rule] = []
    /// Diagnostics about users and groups that do not exist.
    package private(set) var diagnostics: [Diagnostic] = []

    /// Makes the table from rules and the accounts of the machine. Each name is looked up once, which may block.
    ///
    /// - Parameters:
    ///   - own: the user as whom the daemon runs.
    ///   - accounts: the users and groups that there are.
    package init(_ rules: AccessRules, own: UInt32, accounts: Accounts) {
        self.own = own
        if let group = accounts.group(Self.readers) { groups[group] = [Rule(right: .read)] }
        var known: [String: UInt32?] = [:]
        func number(_ account: AccessGrant.Account, _ look: (String) -> UInt32?, _ kind: String) -> UInt32? {
            // A name of digits alone is a number (useradd(8) makes no such names).
            if let number = UInt32(account.text) { return number }
            let key = "\(kind):\(account.text)"
            let number = known[key] ?? look(account.text)
            known.updateValue(number, forKey: key)
            if number == nil { diagnostics.append(account.unknown) }
            return number
        }
        for grant in rules.grants {
            let rule = Rule(right: grant.right, targets: grant.targets)
            for user in grant.users {
                if user.text == AccessGrant.everybody {
                    everybody.append(rule)
                } else if let number = number(user, accounts.user, "user") {
                    users[number, default: []].append(rule)
                }
            }
            for group in grant.groups {
                if let number = number(group, accounts.group, "group") { groups[number, default: []].append(rule) }
            }
        }
    }

    /// Whether a peer may do something. A few looks into tables, one for each group it is in.
    package func allows(_ request: Request, _ peer: VarlinkPeer) -> Bool {
        if mayEverything(peer) { return true }
        let grants = { (rules: [Rule]) in rules.contains { $0.grants(request) } }
        if grants(everybody) || users[peer.userID].map(grants) ?? false { return true }
        if groups.isEmpty { return false }
        return groups[peer.groupID].map(grants) ?? false || peer.groups.contains { groups[$0].map(grants) ?? false }
    }

    /// The systems and buses into which a peer may inject that may not do so everywhere; nil: everywhere, or nowhere.
    package func injectionLimits(of peer: VarlinkPeer) -> AccessGrant.Targets? {
        guard !mayEverything(peer) else { return nil }
        let theirs = Set([peer.groupID] + peer.groups).compactMap { groups[$0] }
        let rules = ([everybody, users[peer.userID] ?? []] + theirs).joined().filter { $0.grants(.inject) }
        guard !rules.isEmpty else { return nil }
        var targets = AccessGrant.Targets(systems: [], buses: [])
        for rule in rules {
            guard rule.right == .inject, let some = rule.targets else { return nil }
            targets.systems.formUnion(some.systems)
            targets.buses.formUnion(some.buses)
        }
        return targets
    }

    /// Whether nothing takes away what a peer may do.
    private func mayEverything(_ peer: VarlinkPeer) -> Bool { peer.userID == 0 || peer.userID == own }

    /// The peers that must be able to open the socket.
    package var audience: Audience {
        let others = users.keys.contains { $0 != 0 && $0 != own }
        if others || !everybody.isEmpty || groups.count > 1 { return .everybody }
        return groups.keys.first.map { .group($0) } ?? .owner
    }
}
