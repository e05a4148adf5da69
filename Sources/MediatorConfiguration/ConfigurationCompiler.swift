public import CommonExpression

/// Compiles configuration files: documents, then what was written, then what it means.
///
/// Every mistake in every file is found in one run, each reported once, where it was made. It touches no disk, and
/// what it accepts a host can start.
public enum ConfigurationCompiler {
    /// Compiles files, in any order: the order changes nothing but which of two systems of one name is called the
    /// second. Linear in the files' size as long as rules under `any` do not name `state`; those cost once a state.
    ///
    /// - Parameters:
    ///   - files: The files' bytes.
    ///   - effects: The side effects that there are.
    ///   - kinds: The kinds of systems that there are.
    ///   - values: Where what is marked as coming from outside comes from.
    ///   - now: The time at which initial states are computed, to see that they can be; nil: they are not.
    public static func compile(
        files: [ConfigurationFile], effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none,
        now: Timestamp? = nil
    ) -> CompilationResult {
        compile(files: files, effects: effects, kinds: kinds, values: values, unreadable: [], now: now)
    }

    /// Compiles files, with what was found while reading them.
    ///
    /// - Parameter threads: How many threads may work at once; nil: as many as are worth it. The result is the same.
    package static func compile(
        files: [ConfigurationFile], effects: [EffectSchema], kinds: [SystemKind] = [], values: ExternalValues,
        unreadable: [Diagnostic], now: Timestamp?, threads: Int? = nil
    ) -> CompilationResult {
        let findings = Findings()
        for diagnostic in unreadable { findings.report(diagnostic) }
        var gathered = Gathered(isIncomplete: unreadable.contains { $0.severity == .error })
        let sorted = files.sorted { $0.path < $1.path }
        let paths = sorted.flatMap { [$0.path] + $0.dropIns.map(\.path) }
        let threads = threads ?? Concurrency.threads(for: sorted.count)
        if paths.count > ConfigurationLimits.files {
            let message = "\(paths.count) files are more than the \(ConfigurationLimits.files) that are allowed"
            findings.report(Diagnostic(code: .tooLarge, message: message))
        } else {
            let effects = EffectTable(effects)
            let parts = Concurrency.map(threads) { part in
                let findings = Findings()
                var reader = Reader(findings, effects)
                for file in Concurrency.part(part, of: sorted, in: threads) { reader.add(file) }
                return (reader.gathered, findings)
            }
            for (part, number) in zip(parts, 0...) {
                gathered.add(part.0, part: number)
                findings.add(part.1)
            }
        }
        let assembly = Assembly(findings, KindTable(kinds), values, gathered, threads: threads)
        let graph = assembly.graph(now: now)
        return CompilationResult(
            graph: findings.hasErrors ? nil : graph, diagnostics: findings.sorted(), files: paths.sorted(),
            unavailable: assembly.session.unavailable.sorted { ($0.source, $0.name) < ($1.source, $1.name) })
    }
}

/// What is written in some files.
private struct Gathered {
    var systems: [WrittenSystem] = []
    /// By system, which part of the files it comes from.
    var parts: [Int] = []
    var buses: [WrittenBus] = []
    var links: [WrittenLink] = []
    var instances: [WrittenInstance] = []
    var brokenSystems: [String] = []
    var mayHideSystems: Bool
    var mayHideBuses: Bool

    init(isIncomplete: Bool) {
        mayHideSystems = isIncomplete
        mayHideBuses = isIncomplete
    }

    /// Adds what is written in another part of the files.
    mutating func add(_ other: Gathered, part: Int) {
        systems += other.systems
        parts += Array(repeating: part, count: other.systems.count)
        buses += other.buses
        links += other.links
        instances += other.instances
        brokenSystems += other.brokenSystems
        mayHideSystems = mayHideSystems || other.mayHideSystems
        mayHideBuses = mayHideBuses || other.mayHideBuses
    }
}

/// Gathers the systems, buses and links of some files: the first and second stage.
private struct Reader {
    private let findings: Findings
    private let effects: EffectTable
    private(set) var gathered = Gathered(isIncomplete: false)

    init(_ findings: Findings, _ effects: EffectTable) {
        self.findings = findings
        self.effects = effects
    }

    mutating func add(_ file: ConfigurationFile) {
        let list = LayeredReader.read(file, findings)
        gathered.brokenSystems += list.brokenSystems
        gathered.mayHideSystems = gathered.mayHideSystems || list.mayDefineSystems
        gathered.mayHideBuses = gathered.mayHideBuses || list.mayDefineBuses
        for document in list.documents { add(document) }
    }

    private mutating func add(_ document: Document) {
        let decoder = Decoder(source: document.source, findings: findings)
        guard let entries = decoder.entries(document.root, "a document") else {
            gathered.mayHideSystems = true
            gathered.mayHideBuses = true
            return
        }
        var keyed = Keyed(entries: entries, span: document.root.mark)
        if let key = keyed.key("system") { keyed.span = key.span }
        let isSystem = keyed["system"] != nil
        let isWiring = entries.contains { WiringDecoder.keys.contains($0.key.text) }
        guard isSystem || isWiring else {
            if !entries.isEmpty { complainOfKind(keyed, decoder) }
            return
        }
        let known = isSystem ? SystemDecoder.keys : WiringDecoder.keys
        keyed.known = known
        for entry in entries where !known.contains(entry.key.text) {
            if isSystem, WiringDecoder.keys.contains(entry.key.text) {
                decoder.report(
                    .documentKind, at: entry.key.span, "'\(entry.key.text)' cannot stand in a system's document",
                    hint: "put it into a document of its own, after a line '---', or into another file")
            } else {
                decoder.unknownKey(entry, isSystem ? "a system" : "a document of buses and links", known: known)
            }
        }
        if isSystem {
            if let system = SystemDecoder(decoder, effects: effects).system(keyed) {
                gathered.systems.append(system)
                gathered.mayHideSystems =
                    gathered.mayHideSystems || (!system.isTemplate && !Names.isPublicName(system.name.text))
            } else {
                gathered.mayHideSystems = true
            }
        }
        if isWiring {
            let wiring = WiringDecoder(decoder).wiring(keyed)
            gathered.mayHideBuses = gathered.mayHideBuses || wiring.hidesBuses
            gathered.buses += wiring.buses
            gathered.links += wiring.links
            gathered.instances += wiring.instances
        }
    }

    private mutating func complainOfKind(_ keyed: Keyed, _ decoder: Decoder) {
        gathered.mayHideSystems = true
        gathered.mayHideBuses = true
        let known = ["system"] + WiringDecoder.keys
        let misspelt = keyed.entries.first { nearestName(to: $0.key.text, among: known) != nil }
        let near = misspelt.flatMap { nearestName(to: $0.key.text, among: known) }
        decoder.report(
            .documentKind, at: misspelt?.key.span ?? keyed.span,
            "a document is a system, with the key 'system', or holds 'buses' and 'links'",
            hint: near.map { "did you mean '\($0)'?" })
    }
}

/// Joins what is written to a whole: the third stage.
private struct Assembly {
    private let findings: Findings
    let session: Session
    private let gathered: Gathered
    private let threads: Int

    init(
        _ findings: Findings, _ kinds: KindTable, _ values: ExternalValues, _ gathered: Gathered, threads: Int
    ) {
        self.findings = findings
        self.gathered = gathered
        self.threads = threads
        session = Session(findings, values, kinds)
    }

    func graph(now: Timestamp?) -> Graph? {
        var table = InstanceTable(session, broken: gathered.brokenSystems, mayHideSystems: gathered.mayHideSystems)
        for template in unique(gathered.systems.filter(\.isTemplate).map { ($0.name, $0.source, $0) }, "system") {
            table.add(template)
        }
        let plain = zip(gathered.systems, gathered.parts).filter { !$0.0.isTemplate }
        let named = unique(
            plain.map { ($0.name, $0.source, System.plain($0, part: $1)) }
                + gathered.instances.map { ($0.name, $0.source, System.instance($0)) }, "system")
        let plainNames = plain.map(\.0.name.text)
        var compiledPlain = compile(named)
        var scopes: [String: SystemScope] = [:]
        scopes.reserveCapacity(named.count)
        for name in gathered.brokenSystems { scopes[name] = SystemScope(brokenName: name) }
        var whole = AnalysedConfiguration()
        whole.systems.reserveCapacity(named.count)
        for (index, system) in named.enumerated() {
            let compiled: AnalysedSystem
            switch system {
            case .plain:
                guard let plain = compiledPlain.removeValue(forKey: index) else { continue }
                compiled = plain
            case .instance(let written):
                compiled = compile(written, table.add(written, systems: plainNames), index: index)
            }
            scopes[compiled.scope.name] = compiled.scope
            whole.systems.append(compiled)
        }
        addWiring(to: &whole, scopes, table)
        GraphAnalysis(whole, findings).run(now: now)
        guard !findings.hasErrors else { return nil }
        return Graph(
            systems: whole.systems.compactMap(\.definition), buses: whole.buses.compactMap(\.definition),
            links: whole.links.map(\.definition))
    }

    /// A system, or what is to become one.
    private enum System {
        case plain(WrittenSystem, part: Int)
        case instance(WrittenInstance)
    }

    /// Compiles the plain systems among those of a graph, each part of the files on a thread of its own: what is found
    /// in a file comes in one order, however many there are.
    private func compile(_ systems: [System]) -> [Int: AnalysedSystem] {
        let parts = Concurrency.map(threads) { part in
            let session = threads == 1 ? session : session.branch()
            var compiled: [Int: AnalysedSystem] = [:]
            for (index, system) in systems.enumerated() {
                guard case .plain(let written, part) = system else { continue }
                let scope = SystemScope(written, index: index, session: session)
                let definition = SystemCompiler(scope, written, session).system()
                compiled[index] = AnalysedSystem(definition: definition, written: written, scope: scope)
            }
            return (compiled, session)
        }
        var all: [Int: AnalysedSystem] = [:]
        for (compiled, branch) in parts {
            all.merge(compiled) { first, _ in first }
            if branch !== session { session.add(branch) }
        }
        return all
    }

    /// Compiles an instance, if it and its template are sound.
    private func compile(_ written: WrittenInstance, _ instance: SystemInstance?, index: Int) -> AnalysedSystem {
        let name = written.name.text
        guard let instance, let constants = instance.constants else {
            let scope = instance.map { SystemScope($0.template.written, name: name, index: index, session: session) }
            return AnalysedSystem(
                definition: nil, written: instance?.template.written, scope: scope ?? SystemScope(brokenName: name))
        }
        return session.withConstants(constants, of: name) {
            let body = instance.template.written
            let scope = SystemScope(body, name: name, index: index, session: session)
            let origin = written.source.location(at: written.name.span.start)
            let definition = SystemCompiler(scope, body, session, origin: origin).system()
            return AnalysedSystem(definition: definition, written: body, scope: scope)
        }
    }

    private func addWiring(
        to whole: inout AnalysedConfiguration, _ scopes: [String: SystemScope], _ instances: InstanceTable
    ) {
        var table = BusTable()
        let before = findings.errors
        let buses = gathered.buses.flatMap { instances.expanded($0) }
        // Of buses for the instances of what could not be found out, nobody knows the names.
        let wiring = WiringCompiler(
            systems: scopes, templateNames: Set(instances.templates.keys), mayHideSystems: gathered.mayHideSystems,
            mayHideBuses: gathered.mayHideBuses || findings.errors > before, session: session)
        for (index, each) in unique(buses.map { ($0.bus.name, $0.bus.source, $0) }, "bus").enumerated() {
            let written = each.bus
            let bus = session.withConstants(each.constants, of: each.instance) { wiring.bus(written, index: index) }
            table.scopes[written.name.text] = bus.scope
            table.names.append(written.name.text)
            whole.buses.append(AnalysedBus(definition: bus.definition, written: written))
        }
        for written in unique(gathered.links.map { ($0.name, $0.source, $0) }, "link") {
            let expanded = instances.expanded(written)
            let errors = findings.errors
            if let each = expanded.generic {
                _ = session.withConstants(each.constants, isGeneric: true) {
                    wiring.link(each.link, buses: table, template: each.template)
                }
            }
            guard findings.errors == errors else { continue }
            for each in expanded.links {
                let link = session.withConstants(each.constants, of: each.instance) {
                    wiring.link(each.link, buses: table)
                }
                if let link { whole.links.append(AnalysedLink(definition: link, written: each.link)) }
            }
        }
        whole.links.sort { $0.definition.name < $1.definition.name }
    }

    /// Things sorted by name, each name once; of two, the first in the order of files counts.
    private func unique<Thing>(_ things: [(name: Scalar, source: SourceText, thing: Thing)], _ what: String) -> [Thing]
    {
        var first: [String: Int] = [:]
        first.reserveCapacity(things.count)
        for (index, thing) in things.enumerated() {
            guard let earlier = first[thing.name.text] else {
                first[thing.name.text] = index
                continue
            }
            let place = things[earlier].source.location(at: things[earlier].name.span.start)
            findings.report(
                .duplicateName, in: thing.source, at: thing.name.span,
                "there is a \(what) '\(thing.name.text)' already, at \(place)", hint: "rename one of them")
        }
        return first.sorted { $0.key < $1.key }.map { things[$0.value].thing }
    }
}
