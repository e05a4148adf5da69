import MediatorControl

/// Proposes the next word of a command line.
struct Completer: Sendable {
    /// A word to propose, and its meaning.
    struct Candidate: Equatable, Sendable {
        var text: String
        var meaning = ""
    }

    /// The proposals.
    enum Proposal: Equatable, Sendable {
        case candidates([Candidate])
        case files
        case directories
    }

    /// Reads names from the daemon; throws if there is no daemon, or it takes too long.
    protocol Source: Sendable {
        func systems() async throws -> [SystemSummary]
        func buses() async throws -> [BusSummary]
        func links() async throws -> [LinkSummary]
        func system(_ name: String) async throws -> SystemDescription
        func bus(_ name: String) async throws -> BusDescription
        func detached() async throws -> [String]
        func stored() async throws -> [StoredPart]
    }

    /// The limit on proposals.
    static let most = 1000

    let info: CommandLineInfo
    let source: any Source

    /// The words before.
    private struct Line {
        var verb: CommandLineInfo.Verb
        var positionals: [String] = []
        var given: Set<String> = []
        /// The values of options before, by the name that was used.
        var values: [String: String] = [:]
        var isBehindDashes = false
        /// The option whose value comes next.
        var open: CommandLineInfo.Argument?
    }

    /// Proposes what the last of the words may become; the words are those behind the name of the program.
    func proposal(for words: [String]) async throws -> Proposal {
        let current = words.last ?? ""
        var before = words.dropLast()
        // Options that every verb has may stand before it.
        let common = info.verbs.first { $0.name == "status" }?.arguments ?? []
        while let word = before.first, word.hasPrefix("-") {
            before.removeFirst()
            guard let option = common.first(where: { $0.names.contains(word) }), option.kind == .option else {
                continue
            }
            if before.popFirst() == nil { return try await value(of: option, current, nil) }
        }
        guard let name = before.popFirst() else {
            if current.hasPrefix("-") { return filtered(options(common, []) + [Candidate(text: "--version")], current) }
            return filtered(verbs, current)
        }
        guard let verb = info.verbs.first(where: { $0.name == name }) else { return .candidates([]) }
        if name == "help" { return filtered(before.isEmpty ? verbs : [], current) }

        var line = Line(verb: verb)
        for word in before { take(word, &line) }
        if let option = line.open { return try await value(of: option, current, line) }
        if !line.isBehindDashes, current.hasPrefix("--"), let equals = current.firstIndex(of: "=") {
            let name = String(current[..<equals])
            guard let option = verb.arguments.first(where: { $0.names.contains(name) && $0.kind == .option }) else {
                return .candidates([])
            }
            let rest = String(current[current.index(after: equals)...])
            let proposal = try await value(of: option, rest, line)
            // The shells look for files behind the '='.
            guard case .candidates(let values) = proposal else { return proposal }
            return .candidates(values.map { Candidate(text: "\(name)=\($0.text)", meaning: $0.meaning) })
        }
        if !line.isBehindDashes, current.hasPrefix("-") {
            return filtered(options(verb.arguments, line.given), current)
        }
        return try await positional(current, line)
    }

    private var verbs: [Candidate] {
        info.verbs.filter(\.isShown).map { Candidate(text: $0.name, meaning: $0.abstract) }
    }

    private func take(_ word: String, _ line: inout Line) {
        if let open = line.open {
            for name in open.names { line.values[name] = word }
            line.open = nil
        } else if line.isBehindDashes || !word.hasPrefix("-") || word == "-" {
            line.positionals.append(word)
        } else if word == "--" {
            line.isBehindDashes = true
        } else {
            let name = String(word.prefix { $0 != "=" })
            guard let argument = line.verb.arguments.first(where: { $0.names.contains(name) }) else { return }
            line.given.formUnion(argument.names)
            guard argument.kind == .option else { return }
            guard let equals = word.firstIndex(of: "=") else {
                line.open = argument
                return
            }
            for name in argument.names { line.values[name] = String(word[word.index(after: equals)...]) }
        }
    }

    private func options(_ arguments: [CommandLineInfo.Argument], _ given: Set<String>) -> [Candidate] {
        arguments.filter { $0.kind != .positional && ($0.isRepeating || given.isDisjoint(with: $0.names)) }
            .flatMap { argument in
                argument.names.filter { $0.hasPrefix("--") }.map { Candidate(text: $0, meaning: argument.abstract) }
            }
    }

    // MARK: Values

    private func value(
        of option: CommandLineInfo.Argument, _ current: String, _ line: Line?
    ) async throws -> Proposal {
        if !option.values.isEmpty { return filtered(option.values.map { Candidate(text: $0) }, current) }
        let system = line?.positionals.first
        switch (option.names.first, option.valueName) {
        case ("--color", _): return filtered(ColorChoice.allCases.map { Candidate(text: $0.rawValue) }, current)
        case (_, "state"):
            guard let system else { return .candidates([]) }
            return filtered(try await states(of: system), current)
        case (_, "system=state"):
            guard let equals = current.firstIndex(of: "=") else {
                return filtered(
                    try await systems().map { Candidate(text: "\($0.text)=", meaning: $0.meaning) }, current)
            }
            let name = String(current[..<equals])
            let states = try await states(of: name)
            return filtered(states.map { Candidate(text: "\(name)=\($0.text)", meaning: $0.meaning) }, current)
        case (_, "name"): return filtered(try await names(current, [.system, .bus]), current)
        case (_, "system"): return filtered(try await systems(), current)
        case (_, "bus"): return filtered(try await buses(), current)
        case ("--on-state", _):
            guard let system = line?.values["--system"] else { return .candidates([]) }
            return filtered(try await states(of: system), current)
        default: break
        }
        return Self.proposal(option.completion)
    }

    private static func proposal(_ completion: CommandLineInfo.Argument.Completion) -> Proposal {
        switch completion {
        case .nothing: .candidates([])
        case .files: .files
        case .directories: .directories
        }
    }

    /// The kinds of names that positional arguments take.
    private func positional(_ current: String, _ line: Line) async throws -> Proposal {
        let all = line.verb.arguments.filter { $0.kind == .positional }
        let place = line.positionals.count
        guard let argument = place < all.count ? all[place] : all.last(where: \.isRepeating) else {
            return .candidates([])
        }
        if !argument.values.isEmpty { return filtered(argument.values.map { Candidate(text: $0) }, current) }
        let first = line.positionals.first
        switch (line.verb.name, argument.valueName) {
        case ("attach", "name"), ("attach", "link"):
            return filtered(try await source.detached().map { Candidate(text: $0, meaning: "detached") }, current)
        case ("detach", _), ("set", "name"), ("set", "link"): return filtered(try await changeableLinks(), current)
        case ("set", "key=value"): return filtered(Self.keys(line.positionals.dropFirst(), current), current)
        case ("store", "part"):
            guard first == StoreVerb.Action.forget.rawValue else { return .candidates([]) }
            let parts = try await source.stored()
            let counts = Dictionary(parts.map { ($0.name, 1) }, uniquingKeysWith: +)
            return filtered(
                parts.map { part in
                    let isUnique = counts[part.name] == 1
                    let prefix = isUnique && Target(current).kind == nil ? "" : "\(part.part.rawValue):"
                    let meaning = part.configured ? part.part.rawValue : "not in the configuration"
                    return Candidate(text: prefix + part.name, meaning: meaning)
                }, current)
        case ("log-level", _):
            return filtered((LogLevel.allCases.map(\.rawValue) + ["default"]).map { Candidate(text: $0) }, current)
        case (_, "system"): return filtered(try await systems(), current)
        case (_, "bus"): return filtered(try await buses(), current)
        case (_, "link"): return filtered(try await links(), current)
        case ("cat-config", _):
            let names = try await names(current, Target.Kind.allCases)
            return filtered(names.filter { !Self.isPublished($0.text) }, current)
        case (_, "name"): return filtered(try await names(current, Target.Kind.allCases), current)
        case (_, "event"):
            guard let first else { return .candidates([]) }
            let system = try await source.system(Target(first).name)
            let hasAlways = line.verb.name == "why-not" && system.transitions.contains { $0.event == "always" }
            let events = system.events.map { Candidate(text: $0.name, meaning: Self.list($0.fields)) }
            return filtered(events + (hasAlways ? [Candidate(text: "always")] : []), current)
        case ("emit", "key=value"), ("why-not", "key=value"):
            guard let first, line.positionals.count > 1 else { return .candidates([]) }
            let events = try await source.system(Target(first).name).events
            let fields = events.first { $0.name == line.positionals[1] }?.fields ?? []
            return filtered(Self.fields(fields, line.positionals.dropFirst(2), current), current)
        case ("publish", "value"):
            guard let first else { return .candidates([]) }
            let bus = try await source.bus(Target(first).name)
            guard bus.fields.isEmpty else {
                return filtered(Self.fields(bus.fields, line.positionals.dropFirst(), current), current)
            }
            let isBool = bus.summary.valueType == "bool"
            return filtered(isBool ? [Candidate(text: "true"), Candidate(text: "false")] : [], current)
        default: return Self.proposal(argument.completion)
        }
    }

    /// Fields that are not there yet, as `key=`; of a truth value both.
    private static func fields(
        _ fields: [Field], _ given: ArraySlice<String>, _ current: String
    ) -> [Candidate] {
        let names = Set(given.map { $0.prefix { $0 != "=" } })
        return fields.filter { !names.contains($0.name[...]) }.flatMap { field in
            guard field.type == "bool", current.hasPrefix("\(field.name)=") else {
                return [Candidate(text: "\(field.name)=", meaning: field.type)]
            }
            return ["true", "false"].map { Candidate(text: "\(field.name)=\($0)") }
        }
    }

    /// Keys of a link that are not there yet, as `key=`.
    private static func keys(_ given: ArraySlice<String>, _ current: String) -> [Candidate] {
        let names = Set(given.map { $0.prefix { $0 != "=" } })
        let keys = [
            "attach", "to", "from", "toSystem", "onState", "on", "onValue", "when", "emitValue", "emitEvent",
            "setInput",
            "loop.limit",
            "loop.hops",
        ]
        return keys.filter { !names.contains($0[...]) }.map { Candidate(text: "\($0)=") }
    }

    private static func list(_ fields: [Field]) -> String {
        fields.map { "\($0.name): \($0.type)" }.joined(separator: ", ")
    }

    private func systems() async throws -> [Candidate] {
        try await source.systems().map { Candidate(text: $0.name, meaning: $0.description ?? "system") }
    }

    private func buses() async throws -> [Candidate] {
        try await source.buses().map { Candidate(text: $0.name, meaning: $0.description ?? "bus, \($0.valueType)") }
    }

    private func links() async throws -> [Candidate] {
        try await source.links().map { Candidate(text: $0.name, meaning: $0.description) }
    }

    /// Whether the name of a link is that of what a feedback publishes: it is written in its system, and changed there.
    private static func isPublished(_ link: String) -> Bool { link.contains("/") }

    /// Links that can be changed: all that are for the instances of a template are changed at once, as the one that is written.
    private func changeableLinks() async throws -> [Candidate] {
        var seen: Set<Substring> = []
        return try await source.links().filter { !Self.isPublished($0.name) }.compactMap { link in
            let name = link.name.prefix { $0 != "@" }
            return seen.insert(name).inserted ? Candidate(text: String(name), meaning: link.description) : nil
        }
    }

    private func states(of system: String) async throws -> [Candidate] {
        let description = try await source.system(Target(system).name)
        return description.namesOfStates.map { name in
            let state = description.states.first { $0.name == name }
            return Candidate(text: name, meaning: state.map { Self.list($0.fields) } ?? "all states inside")
        }
    }

    /// Names of several kinds; behind `system:` and the like only those of this kind.
    private func names(_ current: String, _ kinds: [Target.Kind]) async throws -> [Candidate] {
        let kind = Target(current).kind
        let prefix = kind.map { "\($0.rawValue):" } ?? ""
        var names: [Candidate] = []
        for each in kinds where kind == nil || kind == each {
            switch each {
            case .system: names += try await systems()
            case .bus: names += try await buses()
            case .link: names += try await links()
            }
        }
        var seen: Set<String> = []
        return names.filter { seen.insert($0.text).inserted }
            .map { Candidate(text: prefix + $0.text, meaning: $0.meaning) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// Whether a byte may be part of a name, of an option, or of what joins two of them.
    private static func isSafe(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "._-@:/=".utf8.contains(byte)
    }

    /// Returns the candidates that begin with the current word and that no shell can misread.
    ///
    /// Bash puts a word on its line as it is. An impostor at the socket could name a system `$(command)`.
    private func filtered(_ candidates: [Candidate], _ current: String) -> Proposal {
        let fitting = candidates.filter { candidate in
            // Names begin with a letter. Another beginning counts only if the user has written it.
            guard candidate.text.hasPrefix(current), let first = candidate.text.utf8.first else { return false }
            return (Self.isLetter(first) || !current.isEmpty) && candidate.text.utf8.allSatisfy(Self.isSafe)
        }
        return .candidates(
            fitting.prefix(Self.most).map { candidate in
                Candidate(text: candidate.text, meaning: TextWidth.cut(PlainText.cleaned(candidate.meaning), to: 60))
            })
    }
}

extension Completer.Proposal {
    /// The lines for the scripts: a word, with its meaning behind a tab; or a word that asks the script for other
    /// proposals.
    var text: String {
        switch self {
        case .files: ":files\n"
        case .directories: ":directories\n"
        case .candidates(let candidates):
            candidates.map { $0.meaning.isEmpty ? "\($0.text)\n" : "\($0.text)\t\($0.meaning)\n" }.joined()
        }
    }
}
