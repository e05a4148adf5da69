import CommonExpression
import MediatorControl

/// Something of the daemon that a name stands for.
package struct Target: Hashable, Sendable {
    /// A part of the configuration.
    package enum Kind: String, CaseIterable {
        case system, bus, link
    }

    /// The kind that it must have; nil for any part of that name.
    package var kind: Kind?
    /// The name.
    package var name: String

    /// Something of a kind.
    package init(kind: Kind?, name: String) {
        self.kind = kind
        self.name = name
    }

    /// Reads `NAME` or `system:NAME`, `bus:NAME`, `link:NAME`.
    init(_ text: String) {
        if let colon = text.firstIndex(of: ":"), let kind = Kind(rawValue: String(text[..<colon])) {
            self.kind = kind
            name = String(text[text.index(after: colon)...])
        } else {
            name = text
        }
    }

    /// Asks the daemon for the part of that name.
    ///
    /// - Parameter kinds: the kinds that fit.
    /// - Throws: ``CommandError`` when nothing or more than one thing has the name.
    func find(in client: ControlClient, among kinds: [Kind]) async throws -> ShowReport {
        if let kind {
            guard kinds.contains(kind) else {
                let list = kinds.map(\.rawValue).joined(separator: " or ")
                throw CommandError(.usage, "a \(kind.rawValue) does not fit here; a \(list) is wanted")
            }
            do {
                return try await Self.describe(name, kind, client)
            } catch let error as ControlError {
                guard let nearest = Self.nearest(in: error) else { throw error }
                try await checkInstances(of: [kind], client)
                if kind == .link { try await checkDetached(client) }
                try await checkOthers(than: kind, hasNearest: nearest != nil, client)
                throw error
            }
        }
        var found: [(Kind, ShowReport)] = []
        var near: [String] = []
        for kind in kinds {
            do {
                found.append((kind, try await Self.describe(name, kind, client)))
            } catch let error as ControlError {
                guard let nearest = Self.nearest(in: error) else { throw error }
                if let nearest { near.append(nearest) }
            }
        }
        if found.count > 1 {
            let names = found.map { "\($0.0.rawValue):\(name)" }
            throw CommandError(
                .usage, "'\(name)' is the name of several things",
                advice: "Say which: \(names.joined(separator: " or ")).")
        }
        guard let (_, report) = found.first else {
            try await checkInstances(of: kinds, client)
            if kinds.contains(.link) { try await checkDetached(client) }
            let list = kinds.map(\.rawValue).joined(separator: kinds.count > 2 ? ", " : " or ")
            // The daemon has chosen names that are near. Of several the nearest is shown, even if it is not very near.
            let nearest = nearestName(to: name, among: near) ?? near.min()
            let hint =
                if let nearest { "; did you mean '\(nearest)'?" } else {
                    Nearest.hint(name, among: try await Self.names(of: kinds, client))
                }
            throw CommandError(
                .refused, "nothing is called '\(name)' (\(list))\(hint)",
                advice: "All names: `mediatorctl list`.", code: "no-such-name"
            )
        }
        return report
    }

    /// The nearest name, if an error says that nothing has a name.
    private static func nearest(in error: ControlError) -> String?? {
        switch error {
        case .noSuchSystem(_, let nearest), .noSuchBus(_, let nearest), .noSuchLink(_, let nearest): .some(nearest)
        default: nil
        }
    }

    /// The limit on listed names.
    private static let listed = 8

    /// The message with the instances, if each has a part of that name.
    private func checkInstances(of kinds: [Kind], _ client: ControlClient) async throws {
        let stem = name.hasSuffix("@") || name.hasSuffix("@*") ? name.prefix { $0 != "@" } : name[...]
        guard !stem.isEmpty else { return }
        let names = try await Self.names(of: kinds, client).filter { $0.hasPrefix("\(stem)@") }
        guard !names.isEmpty else { return }
        let list = names.prefix(Self.listed).joined(separator: ", ") + (names.count > Self.listed ? ", …" : "")
        throw CommandError(
            .refused, "there is no '\(name)', but one for each instance: \(list)", advice: "Name one of them.",
            code: "no-such-name")
    }

    /// Says so, if there is no link of the name because it was detached.
    private func checkDetached(_ client: ControlClient) async throws {
        guard try await client.listChanges().contains(where: { $0.link == name && $0.kind == .detached }) else {
            return
        }
        throw ControlError.linkDetached(name: name)
    }

    /// Says so, if something of another kind has the name; where nothing of the kind has one that is like it, what there
    /// is.
    private func checkOthers(than kind: Kind, hasNearest: Bool, _ client: ControlClient) async throws {
        let others = Kind.allCases.filter { $0 != kind }
        for other in others where try await Self.names(of: [other], client).contains(name) {
            throw CommandError(
                .refused, "there is no \(kind.rawValue) '\(name)': that is a \(other.rawValue)",
                advice: "See `mediatorctl show \(other.rawValue):\(name)`.", code: "no-such-\(kind.rawValue)")
        }
        guard !hasNearest else { return }
        let own = try await Self.names(of: [kind], client)
        for other in others {
            guard let near = nearestName(to: name, among: try await Self.names(of: [other], client)) else { continue }
            throw CommandError(
                .refused, "there is no \(kind.rawValue) '\(name)'; did you mean the \(other.rawValue) '\(near)'?",
                advice: Self.list(own, of: kind), code: "no-such-\(kind.rawValue)")
        }
        throw CommandError(
            .refused, "there is no \(kind.rawValue) '\(name)'\(Nearest.hint(name, among: own))",
            advice: Self.list(own, of: kind),
            code: "no-such-\(kind.rawValue)")
    }

    /// Which there are of a kind.
    private static func list(_ names: [String], of kind: Kind) -> String {
        let plural = kind == .bus ? "buses" : "\(kind.rawValue)s"
        guard names.count > listed else {
            return names.isEmpty ? "There are no \(plural)." : "There are: \(names.sorted().joined(separator: ", "))."
        }
        return "All \(plural): `mediatorctl list \(plural)`."
    }

    static func names(of kinds: [Kind], _ client: ControlClient) async throws -> [String] {
        var names: [String] = []
        if kinds.contains(.system) { names += try await client.listSystems().map(\.name) }
        if kinds.contains(.bus) { names += try await client.listBuses().map(\.name) }
        if kinds.contains(.link) { names += try await client.listLinks().map(\.name) }
        return names
    }

    private static func describe(_ name: String, _ kind: Kind, _ client: ControlClient) async throws -> ShowReport {
        switch kind {
        case .system: .system(try await client.describeSystem(name))
        case .bus: .bus(try await client.describeBus(name))
        case .link: .link(try await client.describeLink(name))
        }
    }
}
