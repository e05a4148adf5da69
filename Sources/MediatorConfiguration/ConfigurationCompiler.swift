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
    static func compile(
        files: [ConfigurationFile], effects: [EffectSchema], kinds: [SystemKind], values: ExternalValues,
        unreadable: [Diagnostic], now: Timestamp?
    ) -> CompilationResult {
        let findings = Findings()
        for diagnostic in unreadable { findings.report(diagnostic) }
        var assembly = Assembly(
            findings, EffectTable(effects), KindTable(kinds), values,
            isIncomplete: unreadable.contains { $0.severity == .error })
        let sorted = files.sorted { $0.path < $1.path }
        let paths = sorted.flatMap { [$0.path] + $0.dropIns.map(\.path) }
        if paths.count > ConfigurationLimits.files {
            let message = "\(paths.count) files are more than the \(ConfigurationLimits.files) that are allowed"
            findings.report(Diagnostic(code: .tooLarge, message: message))
        } else {
            for file in sorted { assembly.add(file) }
        }
        let graph = assembly.graph(now: now)
        return CompilationResult(
            graph: findings.hasErrors ? nil : graph, diagnostics: findings.sorted(), files: paths.sorted(),
            unavailable: assembly.session.unavailable.sorted { ($0.source, $0.name) < ($1.source, $1.name) })
    }
}

/// Gathers the systems, buses and links of all files, and then joins them.
private struct Assembly {
    private let findings: Findings
    private let effects: EffectTable
    let session: Session
    private var systems: [WrittenSystem] = []
    private var buses: [WrittenBus] = []
    private var links: [WrittenLink] = []
    private var instances: [WrittenInstance] = []
    private var brokenSystems: [String] = []
    private var mayHideSystems: Bool
    private var mayHideBuses: Bool

    init(
        _ findings: Findings, _ effects: EffectTable, _ kinds: KindTable, _ values: ExternalValues, isIncomplete: Bool
    ) {
        self.findings = findings
        self.effects = effects
        session = Session(findings, values, kinds)
        mayHideSystems = isIncomplete
        mayHideBuses = isIncomplete
    }

    // First and second stage

    mutating func add(_ file: ConfigurationFile) {
        let list = LayeredReader.read(file, findings)
        brokenSystems += list.brokenSystems
        mayHideSystems = mayHideSystems || list.mayDefineSystems
        mayHideBuses = mayHideBuses || list.mayDefineBuses
        for document in list.documents { add(document) }
    }

    private mutating func add(_ document: Document) {
        let decoder = Decoder(source: document.source, findings: findings)
        guard let entries = decoder.entries(document.root, "a document") else {
            mayHideSystems = true
            mayHideBuses = true
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
                systems.append(system)
                mayHideSystems = mayHideSystems || (!system.isTemplate && !Names.isPublicName(system.name.text))
            } else {
                mayHideSystems = true
            }
        }
        if isWiring {
            let wiring = WiringDecoder(decoder).wiring(keyed)
            mayHideBuses = mayHideBuses || wiring.hidesBuses
            buses += wiring.buses
            links += wiring.links
            instances += wiring.instances
        }
    }

    private mutating func complainOfKind(_ keyed: Keyed, _ decoder: Decoder) {
        mayHideSystems = true
        mayHideBuses = true
        let known = ["system"] + WiringDecoder.keys
        let misspelt = keyed.entries.first { nearestName(to: $0.key.text, among: known) != nil }
        let near = misspelt.flatMap { nearestName(to: $0.key.text, among: known) }
        decoder.report(
            .documentKind, at: misspelt?.key.span ?? keyed.span,
            "a document is a system, with the key 'system', or holds 'buses' and 'links'",
            hint: near.map { "did you mean '\($0)'?" })
    }

    // Third stage

    func graph(now: Timestamp?) -> Graph? {
        var table = InstanceTable(session, broken: brokenSystems, mayHideSystems: mayHideSystems)
        for template in unique(systems.filter(\.isTemplate).map { ($0.name, $0.source, $0) }, "system") {
            table.add(template)
        }
        let plain = systems.filter { !$0.isTemplate }
        let named = unique(
            plain.map { ($0.name, $0.source, System.plain($0)) }
                + instances.map { ($0.name, $0.source, System.instance($0)) }, "system")
        let plainNames = plain.map(\.name.text)
        var scopes: [String: SystemScope] = [:]
        scopes.reserveCapacity(named.count)
        for name in brokenSystems { scopes[name] = SystemScope(brokenName: name) }
        var whole = AnalysedConfiguration()
        whole.systems.reserveCapacity(named.count)
        for (index, system) in named.enumerated() {
            let compiled: AnalysedSystem
            switch system {
            case .plain(let written):
                let scope = SystemScope(written, index: index, session: session)
                let definition = SystemCompiler(scope, written, session).system()
                compiled = AnalysedSystem(definition: definition, written: written, scope: scope)
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
        case plain(WrittenSystem)
        case instance(WrittenInstance)
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
        let wiring = WiringCompiler(
            systems: scopes, templateNames: Set(instances.templates.keys), mayHideSystems: mayHideSystems,
            mayHideBuses: mayHideBuses, session: session)
        var table = BusTable()
        let buses = buses.flatMap { instances.expanded($0) }
        for (index, each) in unique(buses.map { ($0.bus.name, $0.bus.source, $0) }, "bus").enumerated() {
            let written = each.bus
            let bus = session.withConstants(each.constants, of: each.instance) { wiring.bus(written, index: index) }
            table.scopes[written.name.text] = bus.scope
            table.names.append(written.name.text)
            whole.buses.append(AnalysedBus(definition: bus.definition, written: written))
        }
        for written in unique(links.map { ($0.name, $0.source, $0) }, "link") {
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
