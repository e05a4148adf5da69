import CommonExpression

/// Joins what the files give to a whole: the last stage.
struct Assembly {
    private let findings: Findings
    private let session: Session
    private let files: [CompiledFile]
    private let threads: Int
    /// What was compiled before.
    private let known: CompiledParts
    /// What has been compiled, or is used again.
    private(set) var parts: CompiledParts
    private let mayHideSystems: Bool
    private let mayHideBuses: Bool

    /// A whole of the given files.
    ///
    /// - Parameters:
    ///   - known: what may be used again.
    ///   - isIncomplete: whether some files could not be read.
    init(
        _ files: [CompiledFile], _ session: Session, _ setting: CompiledParts.Setting, known: CompiledParts,
        isIncomplete: Bool, threads: Int
    ) {
        self.files = files
        self.session = session
        findings = session.findings
        self.threads = threads
        self.known = known
        parts = CompiledParts(setting, known.types)
        parts.files = Dictionary(files.map { ($0.file.path, $0) }, uniquingKeysWith: { first, _ in first })
        mayHideSystems = isIncomplete || files.contains { $0.written.mayHideSystems }
        mayHideBuses = isIncomplete || files.contains { $0.written.mayHideBuses }
    }

    /// The values that were not there.
    var unavailable: [UnavailableValue] {
        session.unavailable.sorted { ($0.source, $0.name) < ($1.source, $1.name) }
    }

    /// Something written, and where.
    private struct Placed<Thing> {
        var name: Scalar
        var source: SourceText
        /// The index of its file.
        var file: Int
        var thing: Thing
    }

    /// What is to become a system.
    private enum Source {
        case plain(CompiledSystem)
        case instance(WrittenInstance)
    }

    /// Compiles what depends on more than a file, and checks the whole.
    mutating func graph(now: Timestamp?) -> Graph? {
        for file in files { findings.add(file.findings) }
        let broken = files.flatMap(\.written.brokenSystems)
        var table = InstanceTable(session, broken: broken, mayHideSystems: mayHideSystems)
        for template in unique(placed(\.systems, { ($0.name, $0.source) }), "system") { add(template, to: &table) }
        var sources: [Placed<Source>] = []
        for (index, file) in files.enumerated() {
            for system in file.systems {
                let written = system.written
                sources.append(
                    Placed(name: written.name, source: written.source, file: index, thing: .plain(system)))
            }
        }
        let plainNames = sources.map(\.name.text)
        sources += placed(\.instances, { ($0.name, $0.source) }).map {
            Placed(name: $0.name, source: $0.source, file: $0.file, thing: .instance($0.thing))
        }
        let named = unique(sources, "system")
        var systems: [String: WiringCompiler.System] = [:]
        systems.reserveCapacity(named.count)
        for name in broken { systems[name] = WiringCompiler.System(scope: SystemScope(brokenName: name), index: 0) }
        var whole = AnalysedConfiguration()
        whole.systems.reserveCapacity(named.count)
        for each in named {
            let compiled: AnalysedSystem
            switch each.thing {
            case .plain(let plain):
                compiled = plain.analysed
                findings.add(plain.findings)
                session.unavailable.formUnion(plain.unavailable)
            case .instance(let written):
                var instance: SystemInstance?
                let isQuiet = Self.isQuiet(session) { instance = table.add(written, systems: plainNames) }
                compiled = self.compiled(written, instance, files[each.file], mayBeKnown: isQuiet)
            }
            systems[compiled.scope.name] = WiringCompiler.System(scope: compiled.scope, index: whole.systems.count)
            whole.systems.append(compiled)
        }
        addWiring(to: &whole, systems, table)
        GraphAnalysis(whole, findings).run(now: now)
        guard !findings.hasErrors else { return nil }
        return Graph(
            systems: whole.systems.compactMap(\.definition), buses: whole.buses.compactMap(\.definition),
            links: whole.links.map(\.definition))
    }

    /// Does something; whether nothing was found meanwhile, and no value from elsewhere looked at, so that its outcome
    /// may be used again.
    private static func isQuiet(_ session: Session, _ body: () -> Void) -> Bool {
        let before = session.findings.count
        session.looksElsewhere = false
        body()
        return session.findings.count == before && !session.looksElsewhere
    }

    private mutating func add(_ template: Placed<WrittenSystem>, to table: inout InstanceTable) {
        let name = template.name.text
        let file = files[template.file]
        if let known = known.templates[name], known.file === file {
            table.add(known.template)
            parts.templates[name] = known
            return
        }
        let isQuiet = Self.isQuiet(session) { table.add(template.thing) }
        guard isQuiet, let compiled = table.templates[name] else { return }
        parts.templates[name] = CompiledParts.Template(file: file, template: compiled)
    }

    /// An instance, compiled if it and its template are sound.
    private mutating func compiled(
        _ written: WrittenInstance, _ instance: SystemInstance?, _ file: CompiledFile, mayBeKnown: Bool
    ) -> AnalysedSystem {
        let name = written.name.text
        guard let instance, let constants = instance.constants else {
            let scope = instance.map { SystemScope($0.template.written, name: name, session: session) }
            return AnalysedSystem(
                definition: nil, written: instance?.template.written, scope: scope ?? SystemScope(brokenName: name))
        }
        let template = instance.template
        if mayBeKnown, let known = known.instances[name], known.file === file, known.template === template.scope {
            parts.instances[name] = known
            return known.analysed
        }
        var compiled: AnalysedSystem?
        let isQuiet = Self.isQuiet(session) {
            compiled = session.withConstants(constants, of: name) {
                let scope = SystemScope(template.written, name: name, session: session)
                let origin = written.source.location(at: written.name.span.start)
                let definition = SystemCompiler(scope, template.written, session, origin: origin).system()
                return AnalysedSystem(definition: definition, written: template.written, scope: scope)
            }
        }
        let analysed = compiled ?? AnalysedSystem(definition: nil, written: nil, scope: SystemScope(brokenName: name))
        if mayBeKnown, isQuiet, analysed.definition != nil {
            parts.instances[name] = CompiledParts.Instance(file: file, template: template.scope, analysed: analysed)
        }
        return analysed
    }

    // Buses and links

    private mutating func addWiring(
        to whole: inout AnalysedConfiguration, _ systems: [String: WiringCompiler.System], _ instances: InstanceTable
    ) {
        var table = BusTable()
        let before = findings.errors
        let buses = placed(\.buses, { ($0.name, $0.source) }).flatMap { written in
            instances.expanded(written.thing).map {
                Placed(name: $0.bus.name, source: $0.bus.source, file: written.file, thing: $0)
            }
        }
        // Of buses for the instances of what could not be found out, nobody knows the names.
        let wiring = WiringCompiler(
            systems: systems, templateNames: Set(instances.templates.keys), mayHideSystems: mayHideSystems,
            mayHideBuses: mayHideBuses || findings.errors > before, session: session)
        for (index, each) in unique(buses, "bus").map(\.thing).enumerated() {
            let written = each.bus
            let bus = session.withConstants(each.constants, of: each.instance) { wiring.bus(written, index: index) }
            table.scopes[written.name.text] = bus.scope
            table.names.append(written.name.text)
            whole.buses.append(AnalysedBus(definition: bus.definition, written: written))
        }
        let links = unique(placed(\.links, { ($0.name, $0.source) }), "link").map {
            (file: $0.file, expanded: instances.expanded($0.thing))
        }
        let compiled = compiled(links, wiring, table)
        whole.links = compiled.map(\.link).sorted { $0.definition.name < $1.definition.name }
        parts.links.reserveCapacity(compiled.count)
        for (link, part) in compiled { parts.links[link.definition.name] = part }
    }

    /// Compiles links, those of each part of the files on a thread of its own: what is found in a file comes in one
    /// order, however many there are.
    private func compiled(
        _ links: [(file: Int, expanded: InstanceTable.Links)], _ wiring: WiringCompiler, _ buses: BusTable
    ) -> [(link: AnalysedLink, part: CompiledParts.Link?)] {
        let done = Concurrency.map(threads) { part in
            let session = threads == 1 ? session : session.branch()
            let wiring = wiring.reporting(to: session)
            var compiled: [(link: AnalysedLink, part: CompiledParts.Link?)] = []
            for each in links where each.file * threads / files.count == part {
                let errors = session.findings.errors
                if let generic = each.expanded.generic {
                    _ = session.withConstants(generic.constants, isGeneric: true) {
                        wiring.link(generic.link, buses: buses, template: generic.template)
                    }
                }
                guard session.findings.errors == errors else { continue }
                let file = files[each.file]
                for link in each.expanded.links {
                    let written = link.link
                    let ends = wiring.ends(of: written, buses: buses)
                    if let known = known.links[written.name.text], known.file === file, known.ends.areAlike(ends) {
                        let definition = known.definition.joining(ends)
                        compiled.append((AnalysedLink(definition: definition, written: written), known))
                        continue
                    }
                    var definition: LinkDefinition?
                    let isQuiet = Self.isQuiet(session) {
                        definition = session.withConstants(link.constants, of: link.instance) {
                            wiring.link(written, buses: buses)
                        }
                    }
                    guard let definition else { continue }
                    let part = CompiledParts.Link(file: file, ends: ends, definition: definition)
                    compiled.append((AnalysedLink(definition: definition, written: written), isQuiet ? part : nil))
                }
            }
            return (links: compiled, session: session)
        }
        for (_, branch) in done where branch !== session { session.add(branch) }
        return done.flatMap(\.links)
    }

    // Parts of files

    /// What is written in all files, in their order.
    private func placed<Thing>(
        _ things: KeyPath<Gathered, [Thing]>, _ named: (Thing) -> (Scalar, SourceText)
    ) -> [Placed<Thing>] {
        var placed: [Placed<Thing>] = []
        for (index, file) in files.enumerated() {
            for thing in file.written[keyPath: things] {
                let (name, source) = named(thing)
                placed.append(Placed(name: name, source: source, file: index, thing: thing))
            }
        }
        return placed
    }

    /// Things sorted by name, each name once; of two, the first in the order of files counts.
    private func unique<Thing>(_ things: [Placed<Thing>], _ what: String) -> [Placed<Thing>] {
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
        return first.sorted { $0.key < $1.key }.map { things[$0.value] }
    }
}
