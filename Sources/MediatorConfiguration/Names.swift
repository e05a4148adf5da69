import CommonExpression

/// What names may look like, and what to say about unknown ones.
enum Names {
    /// The names with a meaning of their own among states.
    static let any = "any"
    /// A rule's target when nothing is to change.
    static let stay = "stay"

    /// The most names listed in a hint.
    private static let listed = 8

    /// The nearest of the names that exist, or else the names; each with what is to follow it.
    static func hint(for name: String, among known: [String], followedBy end: String = "") -> String? {
        if let near = nearestName(to: name, among: known) { return "did you mean '\(near)\(end)'?" }
        guard !known.isEmpty else { return nil }
        return "possible here: \(list(end.isEmpty ? known : known.map { $0 + end }))"
    }

    /// The key that an unknown one is probably meant to be: the nearest, or one that other programs call so.
    static func keyMeant(by key: String, among known: [String]) -> String? {
        otherKeys[key.lowercased()]?.first(where: known.contains) ?? nearestName(to: key, among: known)
    }

    /// What a key is called here that other programs call so.
    static func otherKey(_ key: String) -> String? { otherKeys[key.lowercased()]?.first }

    /// By what people write who know other programs: what it is called here.
    private static let otherKeys: [String: [String]] = [
        "type": ["value"], "default": ["initial"], "initial": ["initialState"], "start": ["initialState"],
        "from": ["attach"], "source": ["attach"], "target": ["to"], "goto": ["to"], "next": ["to"], "then": ["to"],
        "if": ["when"], "guard": ["when"], "condition": ["when"], "cond": ["when"], "state": ["onState"],
        "onenter": ["onState"], "entry": ["onState"], "interval": ["every"], "period": ["every"],
        "delay": ["delay", "after"], "cron": ["at"], "schedule": ["at"], "oncalendar": ["at"], "data": ["set"],
        "assign": ["set"], "params": ["parameters"], "args": ["parameters", "command"],
        "arguments": ["parameters", "command"], "variables": ["parameters"], "env": ["environment"],
        "cmd": ["command", "run"], "exec": ["command", "run"], "execstart": ["command", "run"],
        "argv": ["command", "run"], "cwd": ["directory"], "chdir": ["directory"], "workdir": ["directory"],
        "workingdirectory": ["directory"], "working-directory": ["directory"], "retries": ["retry"],
        "timeout-minutes": ["timeout"], "timeoutsec": ["timeout"], "onerror": ["onFailure"], "onfailed": ["onFailure"],
        "onfail": ["onFailure"], "ondone": ["onSuccess"], "onok": ["onSuccess"],
    ]

    /// The nearest of the names that exist once for each instance of the same, or else those; nil if there are none.
    static func instanceHint(for name: String, among known: [String]) -> String? {
        let template = InstanceName(name)?.template ?? "\(name)@"
        let alike = known.filter { $0.hasPrefix(template) && $0 != template }
        guard !alike.isEmpty else { return nil }
        if let near = nearestName(to: name, among: alike) { return "did you mean '\(near)'?" }
        return "there \(alike.count == 1 ? "is" : "are") \(list(alike))"
    }

    private static func list(_ names: [String]) -> String {
        "\(names.prefix(listed).joined(separator: ", "))\(names.count > listed ? ", …" : "")"
    }

    /// `[A-Za-z][A-Za-z0-9._-]*`: systems, buses, links, feedbacks.
    static func isPublicName(_ name: String) -> Bool {
        isName(name) { isMark($0) }
    }

    /// Whether a byte may be part of such a name.
    static func isPublic(_ byte: UInt8) -> Bool { isLetterOrDigit(byte) || isMark(byte) }

    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    /// `[A-Za-z][A-Za-z0-9_]*`: states, events, fields.
    static func isIdentifier(_ name: String) -> Bool {
        isName(name) { $0 == UInt8(ascii: "_") }
    }

    private static func isName(_ name: String, allowing isExtra: (UInt8) -> Bool) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first), bytes.count <= ConfigurationLimits.nameLength else {
            return false
        }
        return bytes.allSatisfy { isLetterOrDigit($0) || isExtra($0) }
    }

    /// Whether a byte is an ASCII letter or digit.
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

extension Decoder {
    /// Checks a name of a system, bus, link or feedback; false after reporting.
    @discardableResult func checkPublicName(_ name: Scalar, _ what: String) -> Bool {
        guard !Names.isPublicName(name.text) else { return true }
        report(
            .invalidName, at: name.span, "'\(name.text.prefix(ConfigurationLimits.nameLength))' cannot name \(what)",
            hint: "a letter, then letters, digits, '.', '_' and '-', at most \(ConfigurationLimits.nameLength)")
        return false
    }

    /// Checks a name of a state, event or field.
    func checkIdentifier(_ name: Scalar, _ what: String) {
        guard !Names.isIdentifier(name.text) else { return }
        report(
            .invalidName, at: name.span, "'\(name.text.prefix(ConfigurationLimits.nameLength))' cannot name \(what)",
            hint: "a letter, then letters, digits and '_', at most \(ConfigurationLimits.nameLength)")
    }
}
