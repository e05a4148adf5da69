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
    private var parts: CompiledParts
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
        parts = CompiledParts(setting, after: known)
        parts.files = Dictionary(files.map { ($0.file.path, $0) }, uniquingKeysWith: { first, _ in first })
        mayHideSystems = isIncomplete || files.contains { $0.written.mayHideSystems }
        mayHideBuses = isIncomplete || files.contains { $0.written.mayHideBuses }
    }

    /// What may be used again of what was compiled.
    var reusable: CompiledParts {
        var parts = parts
        parts.holds(in: session.span)
        for file in files { parts.holds(in: file.span) }
        return parts
    }

    /// The values that were not there.
    var unavailable: [UnavailableValue] {
        session.unavailable.sorted { ($0.source, $0.name) < ($1.source, $1.name) }
    }

    /// Something that is written, and of what name.
    private struct Place {
        var name: Scalar
        var source: SourceText
        /// The index of its file.
        var file: Int
        /// Its own index there.
        var index: Int
        /// Whether it is an instance of a template.
        var isInstance = false
        /// Whether there is another of its name.
        var isDoubled = false
    }

    /// Compiles what depends on more than a file, and checks the whole.
    mutating func graph(now: Timestamp?) -> Graph? {
        for file in files { findings.add(file.findings) }
        let broken = files.flatMap(\.written.brokenSystems)
        let templates = unique(places(\.systems) { ($0.name, $0.source) }, "system")
        // Of two nobody knows which is meant.
        let doubled = templates.kept.filter(\.isDoubled)
        var table = InstanceTable(
            session, broken: broken + doubled.map(\.name.text), mayHideSystems: mayHideSystems)
        findings.about(.other) {
            for place in templates.kept where !place.isDoubled { addTemplate(place, to: &table) }
        }
        // Mistakes are told of what counts and of what does not.
        var aside = table
        for place in doubled + templates.others { aside.add(files[place.file].written.systems[place.index]) }
        var sources: [Place] = []
        for (number, file) in files.enumerated() {
            for (index, system) in file.systems.enumerated() {
                findings.add(system.findings)
                sources.append(Place(name: system.name, source: system.source, file: number, index: index))
            }
        }
        let plainNames = sources.map(\.name.text)
        sources += places(\.instances, areInstances: true) { ($0.name, $0.source) }
        let named = unique(sources, "system")
        var systems: [String: WiringCompiler.System] = [:]
        systems.reserveCapacity(named.kept.count)
        for name in broken { systems[name] = WiringCompiler.System(scope: SystemScope(brokenName: name), index: 0) }
        var whole = AnalysedConfiguration()
        whole.systems.reserveCapacity(named.kept.count)
        for each in named.kept {
            let compiled: AnalysedSystem
            if !each.isInstance {
                let plain = files[each.file].systems[each.index]
                compiled = plain.analysed
                if !plain.unavailable.isEmpty { session.unavailable.formUnion(plain.unavailable) }
            } else {
                let written = files[each.file].written.instances[each.index]
                var instance: SystemInstance?
                compiled = findings.about(.other) {
                    let isQuiet = Self.isQuiet(session) { instance = table.add(written, systems: plainNames) }
                    return self.compiled(written, instance, files[each.file], mayBeKnown: isQuiet)
                }
            }
            let scope = each.isDoubled ? SystemScope(brokenName: compiled.scope.name) : compiled.scope
            systems[compiled.scope.name] = WiringCompiler.System(scope: scope, index: whole.systems.count)
            whole.systems.append(compiled)
        }
        aside = table
        for each in named.others where each.isInstance {
            let written = files[each.file].written.instances[each.index]
            let instance = aside.add(written, systems: plainNames)
            _ = compiled(written, instance, files[each.file], mayBeKnown: false)
        }
        let buses = addWiring(to: &whole, systems, table)
        let groups = groups(systems)
        let grants = files.flatMap(\.written.grants)
        let access =
            grants.isEmpty
            ? AccessRules()
            : findings.about(.other) {
                AccessCompiler(
                    session: session, systems: mayHideSystems ? nil : systems.keys.sorted(),
                    buses: mayHideBuses ? nil : whole.buses.map(\.written.name.text)
                ).rules(grants)
            }
        let limits = limits()
        let doubledNames = (doubled + named.kept.filter(\.isDoubled)).map(\.name.text)
        let doubt = Doubt(
            whole, of: files, findings, doubled: doubledNames, mayHideNames: mayHideSystems || mayHideBuses)
        let joints = Joints(of: whole)
        let survey = GraphAnalysis(whole, joints, findings, doubt).run(now: now, threads: threads)
        guard !findings.hasErrors else { return nil }
        let graph = Graph(
            systems: whole.systems.compactMap(\.definition), buses: whole.buses.compactMap(\.definition),
            links: whole.links.map(\.definition), groups: groups, access: access,
            limits: limits)
        // Of too many findings, which are not told depends on their order.
        if !session.hasLookedElsewhere, session.unavailable.isEmpty, findings.count < ConfigurationLimits.findings {
            parts.whole = CompiledWhole(
                files: files, analysed: whole, systems: systems, buses: buses, templates: Set(table.templates.keys),
                joints: joints, survey: survey, told: findings.told, sharing: findings.sharing,
                namedByTemplates: namedByTemplates(table), graph: graph)
        }
        return graph
    }

    /// The systems and buses that links of templates without instances name.
    private func namedByTemplates(_ instances: InstanceTable) -> Set<String> {
        var names: Set<String> = []
        for link in files.lazy.flatMap(\.written.links) {
            guard instances.isForNone(link) else { continue }
            names.insert(link.system.text)
            switch link.form {
            case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): names.insert(bus.text)
            case .systemToSystem(let target, _, _): names.insert(target.text)
            case .unclear: break
            }
        }
        return names
    }

    /// How much memory data may take, which is said once.
    private func limits() -> MemoryLimits {
        let written = files.flatMap(\.written.limits)
        guard let first = written.first else { return .standard }
        for other in written.dropFirst() {
            findings.about(.other) {
                session.findings.report(
                    .duplicateName, in: other.source, at: other.span,
                    "'limits' is said already in \(first.source.location(at: first.span.start))",
                    hint: "write all limits in one place")
            }
        }
        return first.limits
    }

    /// The groups; of one with a mistake, what is right of it.
    private func groups(_ systems: [String: WiringCompiler.System]) -> [GroupDefinition] {
        var taken: [String: String] = [:]
        let named = unique(places(\.groups) { ($0.name, $0.source) }, "group")
        for place in named.others where !mayHideSystems {
            let written = files[place.file].written.groups[place.index]
            for name in written.systems where systems[name.text] == nil {
                Lookup(session: session, source: written.source).report(
                    .unknownSystem, at: name.span, "there is no system '\(name.text)'",
                    hint: Names.hint(for: name.text, among: systems.keys.sorted()))
            }
        }
        return named.kept.map { place in
            let written = files[place.file].written.groups[place.index]
            let lookup = Lookup(session: session, source: written.source)
            var members: [Int] = []
            for name in written.systems {
                if let group = taken.updateValue(written.name.text, forKey: name.text) {
                    lookup.report(
                        .duplicateName, at: name.span,
                        group == written.name.text
                            ? "the system '\(name.text)' stands twice in this group"
                            : "the system '\(name.text)' is in the group '\(group)' already, and can be in one only")
                } else if let system = systems[name.text] {
                    members.append(system.index)
                } else if !mayHideSystems {
                    lookup.report(
                        .unknownSystem, at: name.span, "there is no system '\(name.text)'",
                        hint: Names.hint(for: name.text, among: systems.keys.sorted()))
                }
            }
            return GroupDefinition(
                name: written.name.text, source: written.source.location(at: written.name.span.start),
                strategy: written.strategy, systems: members)
        }
    }

    /// Does something; whether nothing was reported meanwhile, and no value from elsewhere looked at, so that its outcome
    /// may be used again.
    static func isQuiet(_ session: Session, _ body: () -> Void) -> Bool {
        let before = session.findings.reports
        session.looksElsewhere = false
        body()
        return session.findings.reports == before && !session.looksElsewhere
    }

    private mutating func addTemplate(_ place: Place, to table: inout InstanceTable) {
        let name = place.name.text
        let file = files[place.file]
        if let known = known.templates[name], known.file === file {
            table.add(known.template)
            parts.templates[name] = known
            return
        }
        let isQuiet = Self.isQuiet(session) { table.add(file.written.systems[place.index]) }
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
                let given = TemplateInstance(
                    template: written.template, parameters: constants.parameters,
                    concealed: Set(constants.origins.keys))
                let definition = SystemCompiler(scope, template.written, session, origin: origin, instance: given)
                    .system()
                return AnalysedSystem(
                    definition: definition, written: template.written, scope: scope,
                    initialOrigin: template.written.initialState.map { session.origin($0.node) } ?? .written)
            }
        }
        let analysed = compiled ?? AnalysedSystem(definition: nil, written: nil, scope: SystemScope(brokenName: name))
        if mayBeKnown, isQuiet, analysed.definition != nil {
            parts.instances[name] = CompiledParts.Instance(file: file, template: template.scope, analysed: analysed)
        }
        return analysed
    }

    // Buses and links

    /// A link as written, and those that it stands for; nil: itself.
    private struct Link {
        var file: Int
        var index: Int
        var expanded: InstanceTable.Links?
    }

    private mutating func addWiring(
        to whole: inout AnalysedConfiguration, _ systems: [String: WiringCompiler.System], _ instances: InstanceTable
    ) -> BusTable {
        var table = BusTable()
        let before = findings.errors
        var expanded: [InstanceTable.Bus] = []
        var places: [Place] = []
        for (number, file) in files.enumerated() {
            for written in file.written.buses {
                for bus in instances.expanded(written) {
                    places.append(
                        Place(name: bus.bus.name, source: bus.bus.source, file: number, index: expanded.count))
                    expanded.append(bus)
                }
            }
        }
        // Of buses for the instances of what could not be found out, nobody knows the names.
        let wiring = WiringCompiler(
            systems: systems, systemNames: systems.keys.sorted(), templateNames: Set(instances.templates.keys),
            mayHideSystems: mayHideSystems, mayHideBuses: mayHideBuses || findings.errors > before, session: session)
        let buses = unique(places, "bus")
        for (index, place) in buses.kept.enumerated() {
            let each = expanded[place.index]
            let written = each.bus
            table.names.append(written.name.text)
            guard !each.isBroken else {
                table.scopes[written.name.text] = BusScope(index: index, type: .dyn, isBroken: true)
                whole.buses.append(AnalysedBus(definition: nil, written: written))
                continue
            }
            let bus = findings.about(.bus(index)) {
                session.withConstants(each.constants, of: each.instance, isChecked: false) {
                    wiring.bus(written, index: index)
                }
            }
            table.scopes[written.name.text] =
                place.isDoubled ? BusScope(index: index, type: .dyn, isBroken: true) : bus.scope
            whole.buses.append(AnalysedBus(definition: bus.definition, written: written))
        }
        for place in buses.others where !expanded[place.index].isBroken {
            let each = expanded[place.index]
            session.withConstants(each.constants, of: each.instance, isChecked: false) {
                _ = wiring.bus(each.bus, index: table.names.count)
            }
        }
        let named = unique(self.places(\.links) { ($0.name, $0.source) }, "link")
        let links = named.kept.map { place in
            let written = files[place.file].written.links[place.index]
            return Link(file: place.file, index: place.index, expanded: instances.expanded(written))
        }
        for place in named.others {
            let written = files[place.file].written.links[place.index]
            guard let expanded = instances.expanded(written) else {
                _ = wiring.link(written, buses: table)
                continue
            }
            let errors = findings.errors
            if let generic = expanded.generic {
                session.withConstants(generic.constants, isGeneric: true) {
                    _ = wiring.link(generic.link, buses: table, template: generic.template)
                }
            }
            for link in expanded.links where findings.errors == errors {
                session.withConstants(link.constants, of: link.instance, isChecked: link.isChecked) {
                    _ = wiring.link(link.link, buses: table)
                }
            }
        }
        let compiled = compiled(links, wiring, table)
        whole.links = compiled.map(\.link)
        // They come by file where several threads compile them, and those of instances by what is written.
        whole.links.sort { $0.definition.name < $1.definition.name }
        parts.links.reserveCapacity(compiled.count)
        for (link, part) in compiled { parts.links[link.definition.name] = part }
        return table
    }

    /// Compiles links, those of each part of the files on a thread of its own: what is found in a file comes in one
    /// order, however many there are.
    private func compiled(
        _ links: [Link], _ wiring: WiringCompiler, _ buses: BusTable
    ) -> [(link: AnalysedLink, part: CompiledParts.Link?)] {
        let done = Concurrency.map(threads) { part in
            let session = threads == 1 ? session : session.branch()
            let wiring = wiring.reporting(to: session)
            var compiled: [(link: AnalysedLink, part: CompiledParts.Link?)] = []
            for each in links where each.file * threads / files.count == part {
                let file = files[each.file]
                guard let expanded = each.expanded else {
                    let written = file.written.links[each.index]
                    if let link = link(InstanceTable.Link(link: written), file, wiring, session, buses) {
                        compiled.append(link)
                    }
                    continue
                }
                let errors = session.findings.errors
                if let generic = expanded.generic {
                    _ = session.findings.about(.other) {
                        session.withConstants(generic.constants, isGeneric: true) {
                            wiring.link(generic.link, buses: buses, template: generic.template)
                        }
                    }
                }
                guard session.findings.errors == errors else { continue }
                compiled += expanded.links.compactMap { link($0, file, wiring, session, buses) }
            }
            return (links: compiled, session: session)
        }
        for (_, branch) in done where branch !== session { session.add(branch) }
        return done.flatMap(\.links)
    }

    /// One link, compiled or used again; nil after reporting.
    private func link(
        _ link: InstanceTable.Link, _ file: CompiledFile, _ wiring: WiringCompiler, _ session: Session,
        _ buses: BusTable
    ) -> (link: AnalysedLink, part: CompiledParts.Link?)? {
        let ends = wiring.ends(of: link.link, buses: buses)
        if let known = known.links[link.link.name.text], known.file === file, known.ends.areAlike(ends) {
            let definition = known.analysed.definition.joining(ends)
            guard definition !== known.analysed.definition else { return (known.analysed, known) }
            let analysed = AnalysedLink(
                definition: definition, written: known.analysed.written, isConstant: known.analysed.isConstant)
            return (analysed, known)
        }
        var definition: LinkDefinition?
        session.saidConstant = false
        let isQuiet = Self.isQuiet(session) {
            definition = session.findings.about(.link(link.link.name.text)) {
                session.withConstants(link.constants, of: link.instance, isChecked: link.isChecked) {
                    wiring.link(link.link, buses: buses)
                }
            }
        }
        guard let definition else { return nil }
        let analysed = AnalysedLink(definition: definition, written: link.link, isConstant: session.saidConstant)
        return (analysed, isQuiet ? CompiledParts.Link(file: file, ends: ends, analysed: analysed) : nil)
    }

    // Parts of files

    /// Where things are written in all files, in their order.
    private func places<Thing>(
        _ things: KeyPath<Gathered, [Thing]>, areInstances: Bool = false,
        _ named: (Thing) -> (Scalar, SourceText)
    ) -> [Place] {
        var places: [Place] = []
        for (number, file) in files.enumerated() {
            for (index, thing) in file.written[keyPath: things].enumerated() {
                let (name, source) = named(thing)
                places.append(
                    Place(name: name, source: source, file: number, index: index, isInstance: areInstances))
            }
        }
        return places
    }

    /// Reports something of a name that there is already. If one of the two is not whole, it was meant to change the other.
    private func complain(of place: Place, beside earlier: Place, _ what: String) {
        func location(_ place: Place) -> SourceLocation { place.source.location(at: place.name.span.start) }
        let isSystem = what == "system"
        let isPart = findings.forgiveMissing(at: location(place), isSystem: isSystem)
        let isSwapped =
            !isPart && location(place).file != location(earlier).file
            && findings.forgiveMissing(at: location(earlier), isSystem: isSystem)
        let (wrong, right) = isSwapped ? (earlier, place) : (place, earlier)
        var hint = "rename one of them"
        let (file, name) = (location(right).file, location(wrong).file.split(separator: "/").last ?? "")
        if isPart || isSwapped, file != location(wrong).file, !file.contains(".d/"), name.hasSuffix(".yaml") {
            hint = "to change that one, write it into a drop-in of its file: \(file).d/\(name)"
        }
        if !isPart, !isSwapped { findings.noteCopy(at: location(wrong), of: file) }
        findings.report(
            .duplicateName, in: wrong.source, at: wrong.name.span,
            "there is a \(what) '\(place.name.text)' already, at \(location(right))", hint: hint)
    }

    /// Things sorted by name, each name once; of two, the first in the order of files counts, though nobody knows which is
    /// meant where the name is used.
    private func unique(_ places: [Place], _ what: String) -> (kept: [Place], others: [Place]) {
        var first: [String: Int] = [:]
        var doubled: Set<Int> = []
        first.reserveCapacity(places.count)
        for (index, place) in places.enumerated() {
            guard let earlier = first[place.name.text] else {
                first[place.name.text] = index
                continue
            }
            // A feedback of a system that is there twice.
            if place.name.text.contains("/") { continue }
            doubled.insert(earlier)
            complain(of: place, beside: places[earlier], what)
        }
        // As a rule they come sorted, for files are.
        let names = places.map(\.name.text)
        let indices = places.indices.filter { first[names[$0]] == $0 }
        let kept = indices.sorted { names[$0] < names[$1] }.map { index in
            var place = places[index]
            place.isDoubled = doubled.contains(index)
            return place
        }
        guard kept.count < places.count else { return (kept, []) }
        return (kept, places.indices.filter { first[names[$0]] != $0 }.map { places[$0] })
    }
}
