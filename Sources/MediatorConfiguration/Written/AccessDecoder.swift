/// A grant as written.
struct WrittenGrant: Sendable {
    var source: SourceText
    var right: AccessRight
    var users: [Scalar]
    var groups: [Scalar]
    /// Patterns of the names of systems; nil: not written.
    var systems: [Scalar]?
    /// Patterns of the names of buses; nil: not written.
    var buses: [Scalar]?
    var span: Span
}

/// Reads who may do what over the control socket: shape only.
struct AccessDecoder {
    /// The keys: one for each right.
    static let keys = AccessRight.allCases.map(\.rawValue)
    /// The keys of a grant.
    static let grantKeys = ["users", "groups"]
    /// The keys of one that may be limited to some systems and buses.
    static let injectKeys = grantKeys + ["systems", "buses"]
    /// The longest name of a user or group, as useradd(8) and groupadd(8) have it at most, and more.
    static let longestAccount = 256

    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads the value of `access`.
    func grants(_ node: Node) -> [WrittenGrant] {
        let hint = "write access: { read: { groups: [adm] } }"
        guard case .mapping = node.content else {
            decoder.report(.wrongShape, at: node.mark, "'access' must be a mapping, not \(node.kind)", hint: hint)
            return []
        }
        guard let keyed = decoder.keyed(node, "'access'", known: Self.keys) else { return [] }
        return AccessRight.allCases.flatMap { right -> [WrittenGrant] in
            guard let key = keyed.key(right.rawValue), let node = keyed[right.rawValue] else { return [] }
            guard case .sequence(let items) = node.content else {
                return grant(node, right, at: key.span).map { [$0] } ?? []
            }
            if items.isEmpty {
                decoder.report(.empty, at: node.mark, "'\(right.rawValue)' grants nothing", hint: "leave it out")
            }
            return items.compactMap { grant($0, right, at: $0.mark) }
        }
    }

    private func grant(_ node: Node, _ right: AccessRight, at span: Span) -> WrittenGrant? {
        let what = "'\(right.rawValue)'"
        guard case .mapping(let entries) = node.content else {
            decoder.report(
                .wrongShape, at: node.mark, "\(what) must be a mapping or a list of mappings, not \(node.kind)",
                hint: "write \(right.rawValue): { groups: [adm] }")
            return nil
        }
        let known = right == .inject ? Self.injectKeys : Self.grantKeys
        for entry in entries where !known.contains(entry.key.text) {
            if Self.injectKeys.contains(entry.key.text) {
                decoder.report(
                    .unknownKey, at: entry.key.span, "\(what) has no key '\(entry.key.text)'",
                    hint: "only 'inject' can be limited to some systems and buses")
            } else {
                decoder.unknownKey(entry, what, known: known)
            }
        }
        let keyed = Keyed(entries: entries, known: known, span: span)
        guard keyed["users"] != nil || keyed["groups"] != nil else {
            if !keyed.hasForeign {
                decoder.report(
                    .missingKey, at: span, "\(what) needs 'users' or 'groups'", hint: "write groups: [adm]")
            }
            return nil
        }
        return WrittenGrant(
            source: decoder.source, right: right,
            users: accounts(keyed["users"], "users", "a user"),
            groups: accounts(keyed["groups"], "groups", "a group"),
            systems: right == .inject ? keyed["systems"].map { patterns($0, "systems", "systems") } : nil,
            buses: right == .inject ? keyed["buses"].map { patterns($0, "buses", "buses") } : nil, span: span)
    }

    /// One or a list.
    private func texts(_ node: Node, _ key: String, _ what: String) -> [Scalar] {
        guard case .sequence(let items) = node.content else {
            return decoder.scalar(node, "'\(key)'", hint: "write \(key): and a list").map { [$0] } ?? []
        }
        if items.isEmpty {
            decoder.report(.empty, at: node.mark, "'\(key)' names none", hint: "leave it out, or name one")
        }
        return items.compactMap { decoder.scalar($0, what) }
    }

    private func accounts(_ node: Node?, _ key: String, _ what: String) -> [Scalar] {
        guard let node else { return [] }
        return texts(node, key, what).filter { name in
            if key == "users", name.text == AccessGrant.everybody { return true }
            if name.text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), !name.text.isEmpty {
                // The last number stands for none (chown(2)).
                if let number = UInt32(name.text), number != .max { return true }
                decoder.report(
                    .outOfRange, at: name.span, "the number of \(what) is from 0 to \(UInt32.max - 1), not \(name.text)"
                )
                return false
            }
            let isName =
                (1...Self.longestAccount).contains(name.text.utf8.count)
                && name.text.unicodeScalars.allSatisfy { scalar in
                    scalar.value > 0x20 && scalar.value != 0x7F && !"*:,/\"".unicodeScalars.contains(scalar)
                        && !(0x80..<0xA1).contains(scalar.value)
                }
            guard isName else {
                decoder.report(
                    .invalidName, at: name.span,
                    "'\(name.text.prefix(ConfigurationLimits.nameLength))' cannot name \(what)",
                    hint: key == "users"
                        ? "a name or number of passwd(5), or \"*\" for everybody" : "a name or number of group(5)")
                return false
            }
            return true
        }
    }

    private func patterns(_ node: Node, _ key: String, _ what: String) -> [Scalar] {
        texts(node, key, "a pattern").filter { pattern in
            let extra = Set(".-_@:*".utf8)
            let isPattern =
                (1...ConfigurationLimits.nameLength).contains(pattern.text.utf8.count)
                && pattern.text.utf8.allSatisfy { Names.isLetterOrDigit($0) || extra.contains($0) }
            if !isPattern {
                decoder.report(
                    .invalidName, at: pattern.span,
                    "'\(pattern.text.prefix(ConfigurationLimits.nameLength))' is no pattern of the names of \(what)",
                    hint: "letters, digits, '.', '_', '-', '@', ':', and '*' for any of them")
            }
            return isPattern
        }
    }
}
