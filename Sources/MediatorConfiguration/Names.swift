import CommonExpression

/// The rules for names, and advice about unknown ones.
package enum Names {
    /// The names with a meaning of their own among states.
    static let any = "any"
    /// A rule's target when nothing is to change.
    package static let stay = "stay"
    /// The rules of a state that are tried after each event, among those for its events.
    package static let always = "always"
    /// Behind a compound state's name and a dot: the state inside that was left last.
    package static let history = "history"
    /// The same at any depth.
    package static let deepHistory = "history*"
    /// Before a compound state's name and a dot: the rules in its final states.
    package static let done = "done"
    /// The variable with the values of a system's inputs.
    package static let input = "input"

    /// The most names listed in a hint.
    private static let listed = 8

    /// Advice about an unknown name: the nearest known name, or all of them; each with a suffix.
    static func hint(for name: String, among known: [String], followedBy end: String = "") -> String? {
        if let choice = choiceMeant(by: name, among: known) { return "did you mean '\(choice)\(end)'?" }
        if let near = nearestName(to: name, among: known) { return "did you mean '\(near)\(end)'?" }
        guard !known.isEmpty else { return nil }
        return "possible here: \(list(end.isEmpty ? known : known.map { $0 + end }))"
    }

    /// Returns the choice that a word is probably meant to be: the nearest one, the only one that begins with it, or one that
    /// other programs call so.
    static func choiceMeant(by word: String, among choices: [String]) -> String? {
        if let near = nearestName(to: word, among: choices) { return near }
        let longer = choices.filter { word.count > 2 && $0.lowercased().hasPrefix(word.lowercased()) }
        if longer.count == 1 { return longer[0] }
        return otherChoices[ForeignWord.normalized(word)]?.first(where: choices.contains)
    }

    /// Other programs' words for choices, in lower case without '-' and '_', each with the choices of that meaning here.
    package static let otherChoices: [String: [String]] = [
        "fatal": ["critical", "error"], "crit": ["critical", "error"],
        "critical": ["error", "failed"], "warning": ["degraded"], "warn": ["degraded"], "ok": ["healthy"],
        "down": ["failed"], "bad": ["failed"], "unhealthy": ["failed"],
        "emerg": ["critical", "error"],
        "alert": ["critical", "error"], "err": ["error"], "verbose": ["debug"], "trace": ["debug"],
        "always": ["restart"], "onfailure": ["restart"], "unexpected": ["restart"], "never": ["stop", "none"],
        "no": ["stop", "none", "false"], "false": ["none"], "off": ["none", "false"], "nothing": ["none"],
        "true": ["state"], "yes": ["state", "true"], "data": ["state"], "disk": ["state"], "none": ["false"],
        "ignore": ["single", "continue"], "drop": ["single"], "skip": ["single"], "coalesce": ["single"],
        "queue": ["queued"], "serial": ["queued"], "concurrent": ["parallel"], "replace": ["restart"],
        "retained": ["currentValue"], "sticky": ["currentValue"], "state": ["currentValue", "true"],
        "value": ["currentValue"],
        "behavior": ["currentValue"], "event": ["passthrough"], "events": ["passthrough"], "stream": ["passthrough"],
        "topic": ["passthrough"], "subject": ["passthrough"],
    ]

    /// The key that an unknown one is probably meant to be: the nearest, or one that other programs call so.
    static func keyMeant(by key: String, among known: [String]) -> String? {
        otherKeys[ForeignWord.normalized(key)]?.first(where: known.contains) ?? nearestName(to: key, among: known)
    }

    /// Returns whether a key is only called otherwise by others than one of some keys.
    static func isRenamed(_ key: String, among known: [String]) -> Bool {
        otherKeys[ForeignWord.normalized(key)]?.contains(where: known.contains) ?? false
    }

    /// The key that other programs write in this way.
    static func otherKey(_ key: String) -> String? { otherKeys[ForeignWord.normalized(key)]?.first }

    /// Other programs' names for keys, in lower case without '-' and '_', each with the keys of that meaning here.
    package static let otherKeys: [String: [String]] = [
        "type": ["value"], "schema": ["value"], "default": ["initial"], "initial": ["initialState"],
        "start": ["initialState"], "startat": ["initialState"], "startstate": ["initialState"],
        "from": ["attach"], "source": ["attach"], "system": ["attach"], "subject": ["attach", "title"],
        "external": ["fromOutside"], "outside": ["fromOutside"], "clients": ["fromOutside"],
        "persistent": ["persist"], "persistence": ["persist"], "durable": ["persist"], "durability": ["persist"],
        "storage": ["store"],
        "target": ["to"], "goto": ["to"], "next": ["to"], "then": ["to"], "nextstate": ["to"], "bus": ["to"],
        "topic": ["to"], "destination": ["to"],
        "if": ["when"], "guard": ["when"], "condition": ["when"], "conditions": ["when"], "cond": ["when"],
        "filter": ["when"], "unless": ["when"], "onlyif": ["when"], "valuetemplate": ["when"],
        "state": ["onState"], "onenter": ["onState"], "entry": ["onState"], "onentry": ["onState"],
        "states": ["onState"], "instate": ["onState"],
        "interval": ["every"], "period": ["every"], "timepattern": ["every"],
        "delay": ["delay", "after"], "cron": ["at"], "schedule": ["at"], "oncalendar": ["at"], "crontab": ["at"],
        "time": ["at"], "calendar": ["at"],
        "data": ["set", "body", "fields"], "assign": ["set"], "update": ["set"], "with": ["set"],
        "params": ["parameters"], "args": ["parameters", "command"],
        "arguments": ["parameters", "command"], "variables": ["parameters"], "vars": ["parameters"],
        "env": ["environment"], "environmentvariables": ["environment"],
        "cmd": ["command", "run"], "exec": ["command", "run"], "execstart": ["command", "run"],
        "argv": ["command", "run"], "cwd": ["directory"], "chdir": ["directory"], "workdir": ["directory"],
        "workingdirectory": ["directory"], "stdin": ["input"], "uid": ["user"], "runas": ["user"], "gid": ["group"],
        "exitcodes": ["expect"], "successexitstatus": ["expect"], "okcodes": ["expect"], "exitcode": ["expect"],
        "retries": ["retry", "times"], "attempts": ["times"], "maxattempts": ["times"], "count": ["times"],
        "maxretries": ["times"], "max": ["times"], "wait": ["delay"],
        "backoff": ["delay"], "restartsec": ["delay"], "restartdelay": ["delay"], "maxbackoff": ["maxDelay"],
        "restartmaxdelaysec": ["maxDelay"], "restart": ["onFault"], "autorestart": ["onFault"],
        "action": ["onFault"],
        "timeoutminutes": ["timeout"], "timeoutsec": ["timeout"], "timeoutseconds": ["timeout"],
        "timeoutsecond": ["timeout"], "timeoutstartsec": ["timeout"], "runtimemaxsec": ["timeout"],
        "jobtimeoutsec": ["timeout"], "stopwaitsecs": ["timeout"], "timeoutstopsec": ["timeout"],
        "onerror": ["onFailure"], "onfailed": ["onFailure"],
        "onfail": ["onFailure"], "ondone": ["onSuccess"], "onok": ["onSuccess"], "oncomplete": ["onSuccess"],
        "onresult": ["onSuccess"], "onstdout": ["onLine"], "onoutput": ["onLine"], "onhealthy": ["onUp"],
        "onunhealthy": ["onDown"],
        "fall": ["failureThreshold"], "unhealthythreshold": ["failureThreshold"], "maxfails": ["failureThreshold"],
        "rise": ["successThreshold"], "healthythreshold": ["successThreshold"],
        "address": ["host"], "hostname": ["host"], "ip": ["host"], "server": ["host"],
        "uri": ["url"], "endpoint": ["url"], "verb": ["method"], "payload": ["body", "text", "emitValue"],
        "json": ["body"],
        "status": ["expect"], "statuscode": ["expect"], "expectedstatus": ["expect"], "failonstatus": ["expect"],
        "insecure": ["verify"], "insecureskipverify": ["verify"], "verifyssl": ["verify"], "tlsverify": ["verify"],
        "followredirect": ["followRedirects"], "allowredirects": ["followRedirects"], "redirects": ["followRedirects"],
        "cafile": ["ca"], "cacert": ["ca"],
        "msg": ["message", "text"], "message": ["text"], "text": ["message"], "body": ["text"],
        "summary": ["title", "description"], "headline": ["title"],
        "severity": ["level", "priority"], "urgency": ["priority"], "loglevel": ["level"], "priority": ["level"],
        "level": ["priority"], "extra": ["fields"],
        "event": ["emitEvent"], "publish": ["emitValue"],
        "content": ["body", "text"],
        "queue": ["limit"], "size": ["limit"], "capacity": ["limit"], "maxsize": ["limit"], "depth": ["limit"],
        "buffer": ["limit"],
    ]

    /// The nearest of the names that exist once for each instance of the same, or else all of those; nil: none.
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

    /// Returns whether a byte may be part of such a name.
    static func isPublic(_ byte: UInt8) -> Bool { isLetterOrDigit(byte) || isMark(byte) }

    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    /// `[A-Za-z][A-Za-z0-9_]*`: states, events, fields.
    static func isIdentifier(_ name: String) -> Bool {
        isName(name) { $0 == UInt8(ascii: "_") }
    }

    /// Identifiers with dots between them: states.
    static func isStateName(_ name: String) -> Bool {
        guard name.utf8.count <= ConfigurationLimits.nameLength else { return false }
        if isIdentifier(name) { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count <= ConfigurationLimits.stateNesting && parts.allSatisfy { isIdentifier(String($0)) }
    }

    /// The name of the state directly around one, as its name says; nil for an outermost state.
    package static func around(_ state: String) -> String? {
        state.lastIndex(of: ".").map { String(state[..<$0]) }
    }

    /// Returns whether a state is another one, or lies in it.
    package static func isState(_ name: String, in other: String) -> Bool {
        name == other || name.hasPrefix(other + ".")
    }

    private static func isName(_ name: String, allowing isExtra: (UInt8) -> Bool) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first), bytes.count <= ConfigurationLimits.nameLength else {
            return false
        }
        return bytes.allSatisfy { isLetterOrDigit($0) || isExtra($0) }
    }

    /// Returns whether a byte is an ASCII letter or digit.
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
