import CommonExpression

/// Compiles and checks what has changed of a whole, and what that has to do with: in the time that takes, however large the
/// whole is, but for looking once at each file whether it is another.
///
/// It goes on from the last whole (``CompiledWhole``) as long as each file names the same things as before: then each has
/// the index that it had. Where a file comes or goes, or its names do, or a file that has changed has templates, instances,
/// groups or rights in it, or anything is wrong, everything is put together anew (``Assembly``). What comes out is the same.
struct Continuation {
    /// What a compilation comes to.
    struct Outcome {
        var graph: Graph
        var parts: CompiledParts
        /// Warnings.
        var findings: Findings.Part
    }

    private var whole: CompiledWhole
    private var parts: CompiledParts
    private let files: [CompiledFile]
    /// The indices of those that have changed.
    private let changed: [Int]
    private let session: Session
    private var findings: Findings { session.findings }
    private var changes = Changes()

    /// Up to so many files, or an eighth of all, may have changed: of more, several threads make a whole in less time.
    private static let fewFiles = 8

    /// What files come to; nil if everything has to be put together anew.
    ///
    /// - Parameters:
    ///   - files: The files, each compiled or used again.
    ///   - known: What was compiled before.
    ///   - session: A session of its own.
    ///   - now: The time at which initial states are computed; nil: they are not.
    static func outcome(
        of files: [CompiledFile], after known: CompiledParts, _ setting: CompiledParts.Setting, _ session: Session,
        now: Timestamp?
    ) -> Outcome? {
        guard var continuation = Continuation(files, known, setting, session) else { return nil }
        return continuation.run(now: now)
    }

    private init?(
        _ files: [CompiledFile], _ known: CompiledParts, _ setting: CompiledParts.Setting, _ session: Session
    ) {
        guard let whole = known.whole, whole.files.count == files.count else { return nil }
        let changed = files.indices.filter { files[$0] !== whole.files[$0] }
        guard changed.count <= max(Self.fewFiles, files.count / Self.fewFiles),
            changed.allSatisfy({ files[$0].namesLike(whole.files[$0]) && files[$0].isFaultless })
        else { return nil }
        self.whole = whole
        self.files = files
        self.changed = changed
        self.session = session
        parts = CompiledParts(setting, continuing: known)
    }

    private mutating func run(now: Timestamp?) -> Outcome? {
        whole.files = files
        var retyped: Set<Int> = []
        for file in changed.map({ files[$0] }) {
            parts.files[file.file.path] = file
            for system in file.systems { guard replace(system) else { return nil } }
        }
        for file in changed.map({ files[$0] }) {
            for bus in file.written.buses { guard replace(bus, &retyped) else { return nil } }
        }
        guard replaceLinks(retyped) else { return nil }
        if changes.areOfJoints { whole.joints = Joints(of: whole.analysed) }
        whole.survey = GraphAnalysis(whole.analysed, whole.joints, findings, Doubt()).run(
            since: whole.survey, changes, now: now)
        guard !findings.hasErrors, !session.hasLookedElsewhere, session.unavailable.isEmpty else { return nil }
        let told = whole.told.filter { !isFoundAgain($0.key) }
        for finding in told.values.joined() { findings.report(finding) }
        // What is said of one instance is not said again of another.
        guard
            !isAboutInstances
                || !(whole.told.keys.contains(where: isOfInstance) || findings.told.keys.contains(where: isOfInstance))
        else { return nil }
        whole.told = told.merging(findings.told) { $0 + $1 }
        for file in files {
            if !file.findings.isEmpty { findings.add(file.findings) }
            for system in file.systems where !system.findings.isEmpty { findings.add(system.findings) }
        }
        // Of so many some are not shown, and which depends on their order.
        guard findings.count < ConfigurationLimits.findings else { return nil }
        whole.isContinued = true
        parts.whole = whole
        return Outcome(graph: whole.graph, parts: parts, findings: findings.part)
    }

    /// Whether what there is to be said of something has been found again.
    private func isFoundAgain(_ concern: Concern) -> Bool {
        switch concern {
        case .system(let index): changes.systems.contains(index)
        case .bus(let index): changes.buses.contains(index)
        case .link(let name): link(name).map(changes.links.contains) ?? true
        case .loops: true
        case .other: false
        }
    }

    /// Whether instances have been checked again, or what there is for each.
    private var isAboutInstances: Bool {
        !whole.templates.isEmpty
            && (changes.systems.contains { isOfInstance(.system($0)) }
                || changes.buses.contains { isOfInstance(.bus($0)) })
    }

    private func isOfInstance(_ concern: Concern) -> Bool {
        switch concern {
        case .system(let index): InstanceName(whole.graph.systems[index].name) != nil
        case .bus(let index): InstanceName(whole.graph.buses[index].name) != nil
        case .link(let name): InstanceName(name) != nil
        case .loops, .other: false
        }
    }

    // Parts

    private mutating func replace(_ system: CompiledSystem) -> Bool {
        guard system.unavailable.isEmpty, let definition = system.analysed.definition,
            let index = whole.systems[definition.name]?.index
        else { return false }
        whole.systems[definition.name] = WiringCompiler.System(scope: system.analysed.scope, index: index)
        whole.analysed.systems[index] = system.analysed
        whole.graph.systems[index] = definition
        changes.systems.insert(index)
        return true
    }

    private mutating func replace(_ bus: WrittenBus, _ retyped: inout Set<Int>) -> Bool {
        let name = bus.name.text
        guard let before = whole.buses.scopes[name] else { return false }
        let compiled = findings.about(.bus(before.index)) { wiring.bus(bus, index: before.index) }
        guard let definition = compiled.definition else { return false }
        if compiled.scope.type != before.type { retyped.insert(before.index) }
        whole.buses.scopes[name] = compiled.scope
        whole.analysed.buses[before.index] = AnalysedBus(definition: definition, written: bus)
        whole.graph.buses[before.index] = definition
        changes.buses.insert(before.index)
        return true
    }

    /// Compiles the links of files that have changed, and those at systems and buses that have.
    private mutating func replaceLinks(_ retyped: Set<Int>) -> Bool {
        let wiring = wiring
        var ends: Set<Int> = []
        for system in changes.systems { ends.formUnion(whole.joints.attached[system] + whole.joints.targeting[system]) }
        for bus in retyped { ends.formUnion(whole.joints.writers[bus] + whole.joints.readers[bus]) }
        for file in changed.map({ files[$0] }) {
            for written in file.written.links {
                guard let index = link(written.name.text), replace(index, written, file, wiring) else { return false }
                ends.remove(index)
            }
        }
        for index in ends.sorted() {
            let written = whole.analysed.links[index].written
            // One for each instance is checked once for all.
            guard InstanceName(written.name.text) == nil,
                replace(index, written, parts.links[written.name.text]?.file, wiring)
            else { return false }
        }
        return true
    }

    private mutating func replace(
        _ index: Int, _ written: WrittenLink, _ file: CompiledFile?, _ wiring: WiringCompiler
    ) -> Bool {
        var definition: LinkDefinition?
        session.saidConstant = false
        let isQuiet = Assembly.isQuiet(session) {
            definition = findings.about(.link(written.name.text)) { wiring.link(written, buses: whole.buses) }
        }
        guard let definition else { return false }
        let before = whole.analysed.links[index].definition
        let analysed = AnalysedLink(definition: definition, written: written, isConstant: session.saidConstant)
        whole.analysed.links[index] = analysed
        whole.graph.links[index] = definition
        parts.links[definition.name] =
            isQuiet
            ? file.map {
                CompiledParts.Link(file: $0, ends: wiring.ends(of: written, buses: whole.buses), analysed: analysed)
            }
            : nil
        changes.links.insert(index)
        for link in [before, definition] {
            changes.systems.insert(link.system)
            switch link.form {
            case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): changes.buses.insert(bus)
            case .systemToSystem(let target, _, _): changes.systems.insert(target)
            }
        }
        if !before.joinsLike(definition) { changes.areOfJoints = true }
        return true
    }

    private var wiring: WiringCompiler {
        // Of what is wrong nothing is shown from here.
        WiringCompiler(
            systems: whole.systems, systemNames: [], templateNames: whole.templates, mayHideSystems: false,
            mayHideBuses: false, session: session)
    }

    /// The index of a link.
    private func link(_ name: String) -> Int? {
        let links = whole.graph.links
        var range = 0..<links.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if links[middle].name == name { return middle }
            range = links[middle].name < name ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}

extension LinkDefinition {
    /// Whether both have the same ends, and both a limit of loops or none.
    fileprivate func joinsLike(_ other: LinkDefinition) -> Bool {
        guard system == other.system, (loop == nil) == (other.loop == nil) else { return false }
        switch (form, other.form) {
        case (.systemToBus(let bus, _, _), .systemToBus(let others, _, _)),
            (.busToSystem(let bus, _, _), .busToSystem(let others, _, _)):
            return bus == others
        case (.systemToSystem(let target, _, _), .systemToSystem(let others, _, _)): return target == others
        default: return false
        }
    }
}

extension CompiledFile {
    /// Whether nothing is wrong with it.
    fileprivate var isFaultless: Bool {
        !findings.hasErrors && systems.allSatisfy { !$0.findings.hasErrors && $0.analysed.definition != nil }
            && written.brokenSystems.isEmpty && !written.mayHideSystems && !written.mayHideBuses
    }

    /// Whether both name the same systems, buses and links in the same order, and nothing else: nothing for instances, no
    /// groups and no rights.
    fileprivate func namesLike(_ other: CompiledFile) -> Bool {
        isPlain && other.isPlain && file.path == other.file.path
            && systems.elementsEqual(other.systems) { $0.name.text == $1.name.text }
            && written.buses.elementsEqual(other.written.buses) { $0.name.text == $1.name.text }
            && written.links.elementsEqual(other.written.links) { $0.name.text == $1.name.text }
    }

    private var isPlain: Bool {
        written.systems.isEmpty && written.instances.isEmpty && written.groups.isEmpty && written.grants.isEmpty
            && written.buses.allSatisfy { $0.each == nil && InstanceName($0.name.text) == nil }
            && written.links.allSatisfy { link in
                if case .systemToSystem(let target, _, _) = link.form, InstanceName(target.text)?.isEvery == true {
                    return false
                }
                return InstanceName(link.system.text)?.isEvery != true
            }
    }
}
