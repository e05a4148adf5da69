import CommonExpression

/// Links compiled files to one configuration, and checks it: the last stage.
///
/// Templates, instances, buses and links may concern several files, so they are compiled here. Instances and links come from
/// the cache if nothing has changed on which they depend.
struct Linker {
    let diagnostics: DiagnosticsCollector
    let context: CompilationContext
    let files: [CompiledFile]
    let threads: Int
    /// The cache: the parts of the last compilation.
    let known: CompiledParts
    /// The parts of this compilation.
    var parts: CompiledParts
    /// A Boolean value that indicates whether a file that could not be read may define systems.
    let mayHideSystems: Bool
    /// A Boolean value that indicates whether a file that could not be read may define buses.
    let mayHideBuses: Bool

    /// A linker of files.
    ///
    /// - Parameters:
    ///   - known: The parts of the last compilation.
    ///   - isIncomplete: Whether some files could not be read.
    init(
        _ files: [CompiledFile], _ context: CompilationContext, _ setting: CompiledParts.Setting, known: CompiledParts,
        isIncomplete: Bool, threads: Int
    ) {
        self.files = files
        self.context = context
        diagnostics = context.diagnostics
        self.threads = threads
        self.known = known
        parts = CompiledParts(setting, after: known)
        parts.files = Dictionary(files.map { ($0.file.path, $0) }, uniquingKeysWith: { first, _ in first })
        mayHideSystems = isIncomplete || files.contains { $0.written.mayHideSystems }
        mayHideBuses = isIncomplete || files.contains { $0.written.mayHideBuses }
    }

    /// The parts that the next compilation may use again.
    var reusable: CompiledParts {
        var parts = parts
        parts.holds(in: context.dependencies.validity)
        for file in files { parts.holds(in: file.dependencies.validity) }
        return parts
    }

    /// The values from elsewhere that are missing.
    var unavailable: [UnavailableValue] {
        context.dependencies.unavailable.sorted { ($0.source, $0.name) < ($1.source, $1.name) }
    }

    /// Compiles the parts that concern several files, and checks the whole. Nil if there is an error.
    mutating func linkedGraph(now: Timestamp?) -> Graph? {
        for file in files { diagnostics.add(file.diagnostics) }
        let broken = files.flatMap(\.written.brokenSystems)
        let templates = unique(places(\.systems) { ($0.name, $0.source) }, "system")
        // A reference may mean either of two with one name.
        let doubled = templates.kept.filter(\.isDoubled)
        var table = InstanceTable(
            context, broken: broken + doubled.map(\.name.text), mayHideSystems: mayHideSystems)
        for place in templates.kept where !place.isDoubled { addTemplate(place, to: &table) }
        // Report mistakes in duplicates as well.
        var aside = table
        for place in doubled + templates.others { aside.add(files[place.file].written.systems[place.index]) }
        var sources: [NamedPlace] = []
        for (number, file) in files.enumerated() {
            for (index, system) in file.systems.enumerated() {
                diagnostics.add(system.diagnostics)
                sources.append(NamedPlace(name: system.name, source: system.source, file: number, index: index))
            }
        }
        guard instancesFit(table) else { return nil }
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
                context.depend(on: plain.dependencies)
            } else {
                let written = files[each.file].written.instances[each.index]
                let instance = context.compiling { table.add(written, systems: plainNames) }
                compiled = self.compiled(
                    written, instance.value, files[each.file], mayBeKnown: instance.isReusable)
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
        addWiring(to: &whole, systems, table)
        let groups = groups(systems)
        let grants = files.flatMap(\.written.grants)
        let access =
            grants.isEmpty
            ? AccessRules()
            : AccessCompiler(
                context: context, systems: mayHideSystems ? nil : systems.keys.sorted(),
                buses: mayHideBuses ? nil : whole.buses.map(\.written.name.text)
            ).rules(grants)
        let limits = limits()
        let store = storeDefault()
        let doubledNames = (doubled + named.kept.filter(\.isDoubled)).map(\.name.text)
        let suppression = WarningSuppression(
            whole, of: files, diagnostics, doubled: doubledNames, mayHideNames: mayHideSystems || mayHideBuses)
        let joints = Joints(of: whole)
        GraphAnalysis(whole, joints, diagnostics, suppression, store: store).run(now: now, threads: threads)
        guard !diagnostics.hasErrors else { return nil }
        return Graph(
            systems: whole.systems.compactMap { $0.definition(store: store) },
            buses: whole.buses.compactMap { $0.definition(store: store) },
            links: whole.links.map(\.definition), groups: groups, access: access,
            limits: limits)
    }

    /// Returns whether the instances are small enough together to be compiled. Reports if they are not.
    private func instancesFit(_ table: InstanceTable) -> Bool {
        var instances: [String: Int] = [:]
        for instance in files.lazy.flatMap(\.written.instances) { instances[instance.template, default: 0] += 1 }
        guard !instances.isEmpty else { return true }
        let systems = Dictionary(
            files.lazy.flatMap(\.systems).map { ($0.name.text, $0.analysed.scope) },
            uniquingKeysWith: { first, _ in first })
        return table.fits(
            instances, links: files.flatMap(\.written.links), buses: files.flatMap(\.written.buses), systems: systems)
    }

    private mutating func addTemplate(_ place: NamedPlace, to table: inout InstanceTable) {
        let name = place.name.text
        let file = files[place.file]
        if let known = known.templates[name], known.file === file {
            table.add(known.template)
            parts.templates[name] = known
            return
        }
        let isReusable = context.compiling { table.add(file.written.systems[place.index]) }.isReusable
        guard isReusable, let compiled = table.templates[name] else { return }
        parts.templates[name] = CompiledParts.Template(file: file, template: compiled)
    }

    /// An instance, compiled if it and its template are sound.
    private mutating func compiled(
        _ written: WrittenInstance, _ instance: SystemInstance?, _ file: CompiledFile, mayBeKnown: Bool
    ) -> AnalysedSystem {
        let name = written.name.text
        guard let instance, let constants = instance.constants else {
            let scope = instance.map { SystemScope($0.template.written, name: name, context: context) }
            return AnalysedSystem(
                definition: nil, written: instance?.template.written, scope: scope ?? SystemScope(brokenName: name))
        }
        let template = instance.template
        if mayBeKnown, let known = known.instances[name], known.file === file, known.template === template.scope {
            parts.instances[name] = known
            return known.analysed
        }
        let compiled = context.compiling {
            context.withConstants(constants, of: name) {
                let scope = SystemScope(template.written, name: name, context: context)
                let origin = written.source.location(at: written.name.span.start)
                let given = TemplateInstance(
                    template: written.template, parameters: constants.parameters,
                    concealed: Set(constants.origins.keys))
                let definition = SystemCompiler(scope, template.written, context, origin: origin, instance: given)
                    .system()
                return AnalysedSystem(
                    definition: definition, written: template.written, scope: scope,
                    initialOrigin: template.written.initialState.map { context.origin($0.node) } ?? .written)
            }
        }
        if mayBeKnown, compiled.isReusable, compiled.value.definition != nil {
            parts.instances[name] = CompiledParts.Instance(
                file: file, template: template.scope, analysed: compiled.value)
        }
        return compiled.value
    }
}
