import CommonExpression

/// Compiles and checks what has changed of a whole, and what that has to do with: in the time that takes, however large the
/// whole is, but for a look at each of its parts.
///
/// It goes on from the last whole (``CompiledWhole``). Where systems, buses or links come or go, others get other indices,
/// and that is all that becomes of them. Where a file that has changed has templates, instances, groups or rights in it, or
/// anything is wrong, everything is put together anew (``Assembly``). What comes out is the same.
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
    private let changed: ChangedFiles
    private let session: Session
    private var findings: Findings { session.findings }
    private var changes = Changes()
    private let systems: Reordering
    private let buses: Reordering
    private let links: Reordering

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
        guard let whole = known.whole, let changed = ChangedFiles(from: whole.files, to: files), changed.arePlain,
            let systems = Reordering(whole.graph.systems, changed, of: { $0.systems.map(\.name.text) }, { $0.name }),
            let buses = Reordering(whole.graph.buses, changed, of: { $0.written.buses.map(\.name.text) }, { $0.name }),
            let links = Reordering(whole.graph.links, changed, of: { $0.written.links.map(\.name.text) }, { $0.name }),
            // Rights name systems and buses, be there any or not.
            whole.graph.access.grants.isEmpty || systems.isIdentity && buses.isIdentity,
            // What has no instances is checked, but joins nothing.
            whole.namedByTemplates.isEmpty || whole.namedByTemplates.isDisjoint(with: changed.names)
        else { return nil }
        (self.systems, self.buses, self.links) = (systems, buses, links)
        self.whole = whole
        self.files = files
        self.changed = changed
        self.session = session
        parts = CompiledParts(setting, continuing: known)
    }

    private mutating func run(now: Timestamp?) -> Outcome? {
        whole.files = files
        for file in changed.old { parts.files[file.file.path] = nil }
        for file in changed.new {
            parts.files[file.file.path] = file
            parts.holds(in: file.span)
        }
        // By their indices before.
        var touched: Set<Int> = []
        guard replaceSystems(&touched), replaceBuses(&touched), replaceLinks(touched) else { return nil }
        changes.areOfJoints = changes.areOfJoints || !systems.isIdentity || !buses.isIdentity || !links.isIdentity
        if changes.areOfJoints { whole.joints = Joints(of: whole.analysed) }
        whole.survey = GraphAnalysis(whole.analysed, whole.joints, findings, Doubt()).run(
            since: whole.survey.reordered(systems), changes, now: now)
        guard !findings.hasErrors, !session.hasLookedElsewhere, session.unavailable.isEmpty else { return nil }
        // What is said once of several, such as the instances of a template, is told of the first.
        guard let sharing = sharingBefore else { return nil }
        let told = toldBefore
        let places = Set(findings.told.values.joined().map(Place.init))
        guard places.isEmpty || !told.values.joined().contains(where: { places.contains(Place($0)) }) else {
            return nil
        }
        for finding in told.values.joined() { findings.report(finding) }
        whole.told = told.merging(findings.told) { $0 + $1 }
        whole.sharing = sharing.union(findings.sharing)
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

    /// What was said before that has not been looked for again.
    private var toldBefore: [Concern: [Diagnostic]] {
        var told: [Concern: [Diagnostic]] = [:]
        for (concern, findings) in whole.told {
            if let concern = unchanged(concern) { told[concern] = findings }
        }
        return told
    }

    /// What shared the place of what was said before; nil if some of that has been looked for again.
    private var sharingBefore: Set<Concern>? {
        var sharing: Set<Concern> = []
        for concern in whole.sharing where concern != .loops {
            guard let concern = unchanged(concern) else { return nil }
            sharing.insert(concern)
        }
        return sharing
    }

    /// A concern from before as it is now; nil if it has been looked at again, or is there no more.
    private func unchanged(_ concern: Concern) -> Concern? {
        switch concern {
        case .system(let index):
            systems.index(of: index).flatMap { changes.systems.contains($0) ? nil : .system($0) }
        case .bus(let index):
            buses.index(of: index).flatMap { changes.buses.contains($0) ? nil : .bus($0) }
        case .link(let name):
            link(name).flatMap { changes.links.contains($0) ? nil : concern }
        case .loops: nil
        case .other: concern
        }
    }

    /// Where something is said, and what kind of thing.
    private struct Place: Hashable {
        let location: SourceLocation?
        let code: Diagnostic.Code

        init(_ finding: Diagnostic) { (location, code) = (finding.location, finding.code) }
    }

    // Parts

    /// Puts systems of files that have changed in the place of those before, and notes the links at these.
    private mutating func replaceSystems(_ touched: inout Set<Int>) -> Bool {
        for index in systems.gone { touched.formUnion(linksBefore(atSystem: index)) }
        let compiled = Dictionary(uniqueKeysWithValues: changed.new.flatMap { $0.systems.map { ($0.name.text, $0) } })
        guard compiled.values.allSatisfy({ $0.unavailable.isEmpty && $0.analysed.definition != nil }) else {
            return false
        }
        for name in compiled.keys {
            if let index = whole.systems[name]?.index { touched.formUnion(linksBefore(atSystem: index)) }
        }
        if !systems.isIdentity {
            whole.analysed.systems = systems.applied(to: whole.analysed.systems) { compiled[$0]?.analysed }
            whole.graph.systems = whole.analysed.systems.compactMap(\.definition)
            whole.systems = Dictionary(
                uniqueKeysWithValues: whole.analysed.systems.enumerated().map { index, system in
                    (system.scope.name, WiringCompiler.System(scope: system.scope, index: index))
                })
            for index in whole.graph.groups.indices {
                let members = whole.graph.groups[index].systems.compactMap(systems.index)
                guard members.count == whole.graph.groups[index].systems.count else { return false }
                whole.graph.groups[index].systems = members
            }
        }
        for (name, system) in compiled {
            guard let definition = system.analysed.definition, let index = whole.systems[name]?.index else {
                return false
            }
            whole.systems[name] = WiringCompiler.System(scope: system.analysed.scope, index: index)
            whole.analysed.systems[index] = system.analysed
            whole.graph.systems[index] = definition
            changes.systems.insert(index)
        }
        return true
    }

    private func linksBefore(atSystem index: Int) -> [Int] {
        whole.joints.attached[index] + whole.joints.targeting[index]
    }

    private func linksBefore(atBus index: Int) -> [Int] { whole.joints.writers[index] + whole.joints.readers[index] }

    /// Puts buses of files that have changed in the place of those before, and notes the links at these if their values
    /// have another type.
    private mutating func replaceBuses(_ touched: inout Set<Int>) -> Bool {
        for index in buses.gone { touched.formUnion(linksBefore(atBus: index)) }
        let before = whole.buses.scopes
        if !buses.isIdentity {
            whole.buses.names = buses.applied(to: whole.buses.names) { $0 }
            whole.buses.scopes = [:]
            for (index, name) in whole.buses.names.enumerated() {
                whole.buses.scopes[name] =
                    before[name].map { BusScope(index: index, type: $0.type, isBroken: $0.isBroken) }
                    ?? BusScope(index: index, type: .dyn, isBroken: true)
            }
        }
        let wiring = wiring
        var compiled: [String: (analysed: AnalysedBus, definition: BusDefinition)] = [:]
        for written in changed.new.flatMap(\.written.buses) {
            let name = written.name.text
            guard let index = whole.buses.scopes[name]?.index else { return false }
            let bus = findings.about(.bus(index)) { wiring.bus(written, index: index) }
            guard let definition = bus.definition else { return false }
            whole.buses.scopes[name] = bus.scope
            compiled[name] = (AnalysedBus(definition: definition, written: written), definition)
            changes.buses.insert(index)
            if let before = before[name], before.type != bus.scope.type {
                touched.formUnion(linksBefore(atBus: before.index))
            }
        }
        if !buses.isIdentity {
            whole.analysed.buses = buses.applied(to: whole.analysed.buses) { compiled[$0]?.analysed }
            whole.graph.buses = whole.analysed.buses.compactMap(\.definition)
        }
        for (name, bus) in compiled {
            guard let index = whole.buses.scopes[name]?.index else { return false }
            whole.analysed.buses[index] = bus.analysed
            whole.graph.buses[index] = bus.definition
        }
        return true
    }

    /// Compiles the links of files that have changed, and some others by their indices before.
    private mutating func replaceLinks(_ touched: Set<Int>) -> Bool {
        let wiring = wiring
        var others = touched.subtracting(links.gone)
        var compiled: [String: AnalysedLink] = [:]
        for file in changed.new {
            for written in file.written.links {
                guard let link = compile(written, file, wiring) else { return false }
                compiled[written.name.text] = link
                if let index = self.link(written.name.text) { others.remove(index) }
            }
        }
        for written in others.sorted().map({ whole.analysed.links[$0].written }) {
            // One for each instance is checked once for all.
            guard InstanceName(written.name.text) == nil,
                let link = compile(written, parts.links[written.name.text]?.file, wiring)
            else { return false }
            compiled[written.name.text] = link
        }
        for index in links.gone {
            note(whole.graph.links[index], wasBefore: true)
            parts.links[whole.graph.links[index].name] = nil
        }
        for (name, link) in compiled {
            let before = self.link(name).map { whole.analysed.links[$0] }
            if let before { note(before.definition, wasBefore: true) }
            note(link.definition, wasBefore: false)
            if let before, reordered(before.definition).joinsLike(link.definition),
                (before.written.loopKey == nil) == (link.written.loopKey == nil)
            {
                continue
            }
            changes.areOfJoints = true
        }
        if !links.isIdentity { whole.analysed.links = links.applied(to: whole.analysed.links) { compiled[$0] } }
        if !systems.isIdentity || !buses.isIdentity {
            whole.analysed.links = whole.analysed.links.map { link in
                guard compiled[link.definition.name] == nil else { return link }
                let definition = reordered(link.definition)
                guard definition !== link.definition else { return link }
                return AnalysedLink(definition: definition, written: link.written, isConstant: link.isConstant)
            }
        }
        if !links.isIdentity || !systems.isIdentity || !buses.isIdentity {
            whole.graph.links = whole.analysed.links.map(\.definition)
        }
        for (name, link) in compiled {
            guard let index = self.link(name) else { return false }
            whole.analysed.links[index] = link
            whole.graph.links[index] = link.definition
            changes.links.insert(index)
        }
        return true
    }

    private mutating func compile(
        _ written: WrittenLink, _ file: CompiledFile?, _ wiring: WiringCompiler
    ) -> AnalysedLink? {
        let name = written.name.text
        var definition: LinkDefinition?
        session.saidConstant = false
        let isQuiet = Assembly.isQuiet(session) {
            definition = findings.about(.link(name)) { wiring.link(written, buses: whole.buses) }
        }
        guard let definition else { return nil }
        let analysed = AnalysedLink(definition: definition, written: written, isConstant: session.saidConstant)
        let ends = wiring.ends(of: written, buses: whole.buses)
        parts.links[name] = isQuiet ? file.map { CompiledParts.Link(file: $0, ends: ends, analysed: analysed) } : nil
        return analysed
    }

    /// Notes that what a link joins, or joined before, is to be checked again.
    private mutating func note(_ link: LinkDefinition, wasBefore: Bool) {
        func insert(_ index: Int, _ order: Reordering, _ set: inout Set<Int>) {
            if let index = wasBefore ? order.index(of: index) : index { set.insert(index) }
        }
        insert(link.system, systems, &changes.systems)
        switch link.form {
        case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): insert(bus, buses, &changes.buses)
        case .systemToSystem(let target, _, _): insert(target, systems, &changes.systems)
        }
    }

    /// A link from before with the indices that what it joins has now.
    private func reordered(_ link: LinkDefinition) -> LinkDefinition {
        guard let system = systems.index(of: link.system) else { return link }
        let form: LinkDefinition.Form
        switch link.form {
        case .systemToBus(let bus, let selector, let value):
            guard let now = buses.index(of: bus), now != bus || system != link.system else { return link }
            form = .systemToBus(bus: now, selector: selector, value: value)
        case .busToSystem(let bus, let filter, let event):
            guard let now = buses.index(of: bus), now != bus || system != link.system else { return link }
            form = .busToSystem(bus: now, filter: filter, event: event)
        case .systemToSystem(let target, let selector, let event):
            guard let now = systems.index(of: target), now != target || system != link.system else { return link }
            form = .systemToSystem(target: now, selector: selector, event: event)
        }
        return link.replacing(system: system, form: form)
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
    /// Whether there are only systems, buses and links in it: no templates, nothing for instances, no groups, no rights and no limits.
    fileprivate var isPlain: Bool {
        written.systems.isEmpty && written.instances.isEmpty && written.groups.isEmpty && written.grants.isEmpty
            && written.limits.isEmpty
            && written.buses.allSatisfy { $0.each == nil && InstanceName($0.name.text) == nil }
            && written.links.allSatisfy { link in
                if case .systemToSystem(let target, _, _) = link.form, InstanceName(target.text)?.isEvery == true {
                    return false
                }
                return InstanceName(link.system.text)?.isEvery != true
            }
    }

    /// Whether nothing is wrong with it.
    fileprivate var isFaultless: Bool {
        !findings.hasErrors && systems.allSatisfy { !$0.findings.hasErrors && $0.analysed.definition != nil }
            && written.brokenSystems.isEmpty && !written.mayHideSystems && !written.mayHideBuses
    }
}

/// Which files have come in place of which.
private struct ChangedFiles {
    /// Those of the whole before that are there no more as they were.
    private(set) var old: [CompiledFile] = []
    /// Those that were not there as they are.
    private(set) var new: [CompiledFile] = []

    /// Up to so many files, or an eighth of all, may have changed: of more, several threads make a whole in less time.
    private static let few = 8

    /// Compares files that are sorted by path; nil if too many have changed.
    init?(from before: [CompiledFile], to after: [CompiledFile]) {
        let most = 2 * max(Self.few, after.count / Self.few)
        var (left, right) = (0, 0)
        while left < before.count || right < after.count {
            let old = left < before.count ? before[left] : nil
            let new = right < after.count ? after[right] : nil
            let path = min(old?.file.path ?? new?.file.path ?? "", new?.file.path ?? old?.file.path ?? "")
            let isSame = old != nil && old === new
            if let old, isSame || old.file.path == path {
                left += 1
                if !isSame { self.old.append(old) }
            }
            if let new, isSame || new.file.path == path {
                right += 1
                if !isSame { self.new.append(new) }
            }
            guard self.old.count + self.new.count <= most else { return nil }
        }
    }

    /// The systems and buses in them.
    var names: Set<String> {
        Set((old + new).flatMap { $0.systems.map(\.name.text) + $0.written.buses.map(\.name.text) })
    }

    /// Whether nothing is wrong in the new ones, and in none there is more than systems, buses and links.
    var arePlain: Bool { (old + new).allSatisfy(\.isPlain) && new.allSatisfy(\.isFaultless) }
}

/// How the indices of things that are sorted by name change when some go and others come.
struct Reordering {
    /// The indices before of those that go.
    let gone: Set<Int>
    /// By index, its index before; nil: it comes. Empty where none goes or comes.
    private let before: [Int?]
    /// By index before, its index; nil: it goes. Empty where none goes or comes.
    private let now: [Int?]
    /// The names of those that come, sorted.
    private let come: [String]

    /// Whether none goes or comes.
    var isIdentity: Bool { gone.isEmpty && come.isEmpty }

    /// What becomes of things with a change of files; nil if two have one name.
    ///
    /// - Parameters:
    ///   - things: All of the whole before, sorted by name.
    ///   - changed: The files that have changed.
    ///   - names: The names of those in a file.
    ///   - name: The name of one.
    fileprivate init?<Thing>(
        _ things: [Thing], _ changed: ChangedFiles, of names: (CompiledFile) -> [String], _ name: (Thing) -> String
    ) {
        let new = changed.new.flatMap(names)
        let (olds, news) = (Set(changed.old.flatMap(names)), Set(new))
        guard news.count == new.count else { return nil }
        let (go, come) = (olds.subtracting(news), news.subtracting(olds).sorted())
        self.come = come
        guard !go.isEmpty || !come.isEmpty else {
            (gone, before, now) = ([], [], [])
            return
        }
        var gone: Set<Int> = []
        var before: [Int?] = []
        var now: [Int?] = []
        var coming = come[...]
        for (index, thing) in things.enumerated() {
            let name = name(thing)
            while let next = coming.first, next <= name {
                guard next != name else { return nil }
                before.append(nil)
                coming.removeFirst()
            }
            if go.contains(name) {
                gone.insert(index)
                now.append(nil)
            } else {
                now.append(before.count)
                before.append(index)
            }
        }
        before += coming.map { _ in nil }
        (self.gone, self.before, self.now) = (gone, before, now)
    }

    /// The index of what had another; nil: it goes.
    func index(of before: Int) -> Int? { isIdentity ? before : now[before] }

    /// Things in their new order, with those that come.
    func applied<Thing>(to things: [Thing], coming: (String) -> Thing?) -> [Thing] {
        guard !isIdentity else { return things }
        var names = come[...]
        return before.compactMap { index in index.map { things[$0] } ?? names.popFirst().flatMap(coming) }
    }
}
