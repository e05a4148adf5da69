import CommonExpression

/// A bus as links see it.
struct BusScope: Sendable {
    /// Its index in the graph.
    let index: Int
    /// Its values' type; `dyn` if that is a mistake.
    let type: ValueType
    /// A Boolean value that indicates whether nothing is known of its values.
    let isBroken: Bool
}

/// The buses by name.
struct BusTable: Sendable {
    /// The buses as links see them.
    var scopes: [String: BusScope] = [:]
    /// The names, sorted.
    var names: [String] = []
}

/// Gives buses and links as written their meaning.
struct WiringCompiler {
    /// A system as links see it.
    struct System: Sendable {
        /// Its names and types.
        let scope: SystemScope
        /// Its index in the graph.
        let index: Int
    }

    /// The ends of a link, if they exist.
    struct Ends: Sendable {
        /// The system to which it is attached, and that system's index in the graph.
        var system: SystemScope?
        var systemIndex = 0
        /// The system to which its events go, if it is another.
        var target: SystemScope?
        var targetIndex = 0
        /// Its bus.
        var bus: BusScope?

        /// Returns whether a link over the other's is compiled to the same as one over these, but for indices.
        func areAlike(_ other: Ends) -> Bool {
            system === other.system && target === other.target && bus?.type == other.bus?.type
                && bus?.isBroken == other.bus?.isBroken
        }
    }

    /// A compiled link.
    struct CompiledLink {
        let definition: LinkDefinition
        /// A Boolean value that indicates whether its condition is constant.
        let isConstant: Bool
    }

    private let systems: [String: System]
    /// The systems' names, sorted.
    private let systemNames: [String]
    private let templateNames: Set<String>
    private var context: CompilationContext
    /// A Boolean value that indicates whether unreadable parts may define buses or systems.
    private let mayHideBuses: Bool
    private let mayHideSystems: Bool

    /// A compiler for buses and links.
    ///
    /// - Parameter systemNames: The systems' names, sorted.
    init(
        systems: [String: System], systemNames: [String], templateNames: Set<String>, mayHideSystems: Bool,
        mayHideBuses: Bool, context: CompilationContext
    ) {
        self.templateNames = templateNames
        self.systems = systems
        self.systemNames = systemNames
        self.context = context
        self.mayHideBuses = mayHideBuses
        self.mayHideSystems = mayHideSystems
    }

    /// The same, for another part of the compilation.
    func reporting(to context: CompilationContext) -> WiringCompiler {
        var copy = self
        copy.context = context
        return copy
    }

    // Buses

    /// Compiles a bus; its definition is nil after reporting.
    func bus(_ written: WrittenBus, index: Int) -> (scope: BusScope, definition: BusDefinition?) {
        guard let node = written.value, let type = type(node, written) else {
            return (BusScope(index: index, type: .dyn, isBroken: true), nil)
        }
        let scope = BusScope(index: index, type: type, isBroken: false)
        guard let kind = written.kind, let initial = initial(written, kind, type) else { return (scope, nil) }
        let definition = BusDefinition(
            name: written.name.text, description: written.description,
            source: written.source.location(at: written.name.span.start), kind: kind, valueType: type,
            initial: initial.value, buffer: written.buffer, fromOutside: written.fromOutside,
            isPersisted: written.isPersisted == true,
            lazyFingerprint: Fingerprinter.of(written, context).persisted(written.isPersisted == true))
        return (scope, definition)
    }

    private func type(_ node: Node, _ written: WrittenBus) -> ValueType? {
        let reader = TypeReader(source: written.source, diagnostics: context.diagnostics)
        guard case .mapping = node.content else {
            return reader.type(node, "the value of '\(written.name.text)'")
        }
        let decoder = Decoder(source: written.source, diagnostics: context.diagnostics)
        guard let entries = decoder.fieldEntries(node, "the fields of '\(written.name.text)'") else { return nil }
        return .structure(StructureType(name: "", fields: reader.fields(decoder.fields(entries))))
    }

    /// The first value, wrapped to tell "none" from "wrong".
    private func initial(_ written: WrittenBus, _ kind: BusKind, _ type: ValueType) -> (value: Value?, Void)? {
        let lookup = Lookup(context: context, source: written.source)
        switch (kind, written.initial) {
        case (.passthrough, nil): return (nil, ())
        case (.passthrough, .some):
            lookup.report(
                .conflictingKeys, at: written.initialKey?.span ?? written.span,
                "the passthrough bus '\(written.name.text)' has no initial value, since it remembers none",
                hint: "leave 'initial' out, or write kind: currentValue")
            return nil
        case (.currentValue, nil):
            lookup.report(
                .missingKey, at: written.span, "the currentValue bus '\(written.name.text)' needs 'initial'",
                hint: "write the value it has before anyone sets it")
            return nil
        case (.currentValue, .some(let node)):
            let value = DataCompiler(context, written.source).constant(node, as: type, Subject("'initial'", ""))
            return value.map { ($0, ()) }
        }
    }

    // Links

    /// Compiles a link; nil after reporting, or if a part on which it depends is broken.
    ///
    /// - Parameter template: A template that takes the place of the system of its name, to check the link for all
    ///   instances.
    func link(_ written: WrittenLink, buses: BusTable, template: SystemScope? = nil) -> CompiledLink? {
        context.begin()
        let lookup = Lookup(context: context, source: written.source)
        let system = written.isSystemBroken ? nil : system(written.system, lookup, template)
        // A missing system has an unknown scope. The rest of the link is checked all the same.
        let scope = system?.scope ?? SystemScope(brokenName: written.system.text)
        let constants = ShownConstants(context)
        func text(_ node: Node) -> String { FlowText.of(node, with: constants) }
        let compiled: (joined: Joined, summary: String, emits: String)?
        switch written.form {
        case .systemToBus(let name, let selector, let value):
            let bus = bus(name, buses, lookup, of: written)
            compiled = systemToBus(written, scope, bus, selector, value, lookup).map {
                ($0, "\(scope.name): \(selected($0, written)) → bus \(name.text)", text(value))
            }
        case .busToSystem(let name, let onValue, let event):
            let bus = bus(name, buses, lookup, of: written)
            compiled = busToSystem(written, scope, bus, onValue, event, lookup).map {
                ($0, "bus \(name.text) → \(written.system.text): \(event.shown)", text(event.node))
            }
        case .systemToSystem(let name, let selector, let event):
            let target = self.system(name, lookup, template)
            compiled = systemToSystem(written, scope, target, selector, event, lookup).map {
                (
                    $0, "\(scope.name): \(selected($0, written)) → \(name.text): \(event.shown)", text(event.node)
                )
            }
        case .unclear(let selector):
            if let system, let selector { _ = lookup.selector(selector, condition: nil, of: system.scope) }
            compiled = nil
        }
        guard let compiled, let system, !written.isConditionBroken else { return nil }
        let definition = LinkDefinition(
            name: written.name.text, source: written.source.location(at: written.name.span.start),
            system: system.index, form: compiled.joined.form, summary: compiled.summary,
            conditionText: condition(written),
            emits: compiled.emits, loop: written.loop, firesOnChange: written.firesOnChange,
            fingerprint: Fingerprinter.of(written, context),
            trigger: written.trigger, readsTo: compiled.joined.isReader && !written.hasFrom)
        return CompiledLink(definition: definition, isConstant: compiled.joined.isConstant)
    }

    /// The states and the moment at which a link fires, in words.
    private func selected(_ joined: Joined, _ written: WrittenLink) -> String {
        joined.selector + (written.firesOnChange ? ", on change" : "")
    }

    /// The ends of a link. Nothing is reported.
    func ends(of written: WrittenLink, buses: BusTable) -> Ends {
        var ends = Ends()
        if let system = systems[written.system.text] { (ends.system, ends.systemIndex) = (system.scope, system.index) }
        switch written.form {
        case .systemToBus(let name, _, _), .busToSystem(let name, _, _): ends.bus = buses.scopes[name.text]
        case .systemToSystem(let name, _, _):
            if let target = systems[name.text] { (ends.target, ends.targetIndex) = (target.scope, target.index) }
        case .unclear: break
        }
        return ends
    }

    private func condition(_ written: WrittenLink) -> String? {
        if let condition = written.condition { return condition.text }
        if case .busToSystem(_, .some(let value), _) = written.form {
            return "onValue: \(FlowText.of(value, with: ShownConstants(context)))"
        }
        return nil
    }

    private func system(_ name: Scalar, _ lookup: Lookup, _ template: SystemScope?) -> System? {
        if let template, template.name == name.text { return System(scope: template, index: 0) }
        if let system = systems[name.text] { return system }
        guard !mayHideSystems else { return nil }
        lookup.report(
            .unknownSystem, at: name.span, "there is no system '\(name.text)'",
            hint: templateHint(name.text) ?? Names.hint(for: name.text, among: systemNames))
        return nil
    }

    /// A word on the name of a template, with its `@` or without.
    private func templateHint(_ name: String) -> String? {
        guard let template = [name, "\(name)@"].first(where: templateNames.contains) else {
            guard let template = InstanceName(name)?.template, templateNames.contains(template) else { return nil }
            return Names.instanceHint(for: name, among: systemNames) ?? "add '\(name)' under 'instances'"
        }
        return "'\(template)' is a template: write \(template)* for each of its instances, or the name of one"
    }

    private func bus(_ name: Scalar, _ buses: BusTable, _ lookup: Lookup, of link: WrittenLink) -> BusScope? {
        if let bus = buses.scopes[name.text] { return bus }
        guard !mayHideBuses else { return nil }
        lookup.report(
            .unknownBus, at: name.span, "there is no bus '\(name.text)'",
            hint: systems[name.text] != nil && link.trigger == nil
                ? "'\(name.text)' is a system: write \(Self.form(of: link, beside: name.text))"
                : Names.instanceHint(for: name.text, among: buses.names)
                    ?? Names.hint(for: name.text, among: buses.names) ?? "add it under 'buses'")
        return nil
    }

    /// The keys of a link that joins a system to another one, where it names that as its bus.
    private static func form(of link: WrittenLink, beside system: String) -> String {
        guard link.hasFrom else { return "toSystem instead of to" }
        // A link that is checked for all instances has a name without one.
        let target = link.system.text + (link.system.text.hasSuffix("@") ? "*" : "")
        return "attach: \(system), toSystem\(link.isSystemBroken ? "" : ": \(target)") and onState"
    }

    /// The ends of a link, compiled.
    private struct Joined {
        var form: LinkDefinition.Form
        /// A Boolean value that indicates whether it reads a bus.
        var isReader: Bool { if case .busToSystem = form { true } else { false } }
        /// The states that it selects, in words.
        var selector = ""
        /// A Boolean value that indicates whether its condition is constant.
        var isConstant: Bool
    }

    private func systemToBus(
        _ written: WrittenLink, _ system: SystemScope, _ bus: BusScope?, _ selector: WrittenSelector, _ value: Node,
        _ lookup: Lookup
    ) -> Joined? {
        let data = DataCompiler(context, written.source)
        let selected = lookup.selector(selector, condition: written.condition, of: system)
        guard let bus, !bus.isBroken else { return nil }
        let programs = lookup.perState(lookup.meant(selector, of: system), of: system) {
            data.data(value, as: bus.type, Subject(written.trigger == nil ? "'emitValue'" : "'value'", ""), $0)
        }
        guard let selected, let programs else { return nil }
        return Joined(
            form: .systemToBus(bus: bus.index, selector: selected.selector, value: programs),
            selector: selected.selector.text, isConstant: selected.isConstant)
    }

    private func busToSystem(
        _ written: WrittenLink, _ system: SystemScope, _ bus: BusScope?, _ onValue: Node?, _ event: WrittenConstruct,
        _ lookup: Lookup
    ) -> Joined? {
        let type = bus?.type ?? .dyn
        let scope = VariableScope.bus(type, number: context.number(of: type), isBroken: bus?.isBroken ?? true)
        var filter: ValueFilter? = .all
        var isConstant = false
        if let condition = written.condition {
            let compiled = context.condition(condition, scope, in: written.source)
            filter = compiled.map { .condition($0.program) }
            isConstant = compiled?.isConstant ?? false
        } else if let onValue {
            filter = bus.flatMap { bus in
                bus.isBroken
                    ? nil
                    : DataCompiler(context, written.source).constant(
                        onValue, as: bus.type, Subject("'onValue'", "")
                    ).map { .equals($0) }
            }
        }
        guard let program = lookup.event(event, of: system, scope), let filter, let bus else { return nil }
        return Joined(
            form: .busToSystem(bus: bus.index, filter: filter, event: program), isConstant: isConstant)
    }

    private func systemToSystem(
        _ written: WrittenLink, _ system: SystemScope, _ target: System?, _ selector: WrittenSelector,
        _ event: WrittenConstruct, _ lookup: Lookup
    ) -> Joined? {
        let selected = lookup.selector(selector, condition: written.condition, of: system)
        let scope = target?.scope ?? SystemScope(brokenName: "")
        let programs = lookup.perState(lookup.meant(selector, of: system), of: system) {
            lookup.event(event, of: scope, $0)
        }
        guard let selected, let programs, let target else { return nil }
        return Joined(
            form: .systemToSystem(target: target.index, selector: selected.selector, event: programs),
            selector: selected.selector.text, isConstant: selected.isConstant)
    }
}

extension LinkDefinition {
    /// The same link with the current indices of its ends.
    func joining(_ ends: WiringCompiler.Ends) -> LinkDefinition {
        let joined: Form
        switch form {
        case .systemToBus(let bus, let selector, let value):
            guard system != ends.systemIndex || bus != ends.bus?.index else { return self }
            joined = .systemToBus(bus: ends.bus?.index ?? bus, selector: selector, value: value)
        case .busToSystem(let bus, let filter, let event):
            guard system != ends.systemIndex || bus != ends.bus?.index else { return self }
            joined = .busToSystem(bus: ends.bus?.index ?? bus, filter: filter, event: event)
        case .systemToSystem(let target, let selector, let event):
            guard system != ends.systemIndex || target != ends.targetIndex else { return self }
            joined = .systemToSystem(target: ends.targetIndex, selector: selector, event: event)
        }
        return replacing(system: ends.systemIndex, form: joined)
    }
}
