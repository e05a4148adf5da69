import CommonExpression

/// The definitions of a file as written.
struct Gathered: Sendable {
    /// Templates among them.
    var systems: [WrittenSystem] = []
    var buses: [WrittenBus] = []
    var links: [WrittenLink] = []
    /// The entries under `links`, right or wrong.
    var linkNodes: [Node.Entry] = []
    var instances: [WrittenInstance] = []
    var groups: [WrittenGroup] = []
    var grants: [WrittenGrant] = []
    var limits: [WrittenLimits] = []
    var stores: [WrittenStore] = []
    /// The names of systems that could not be read.
    var brokenSystems: [String] = []
    /// A Boolean value that indicates whether unreadable parts may define systems.
    var mayHideSystems = false
    /// A Boolean value that indicates whether buses may.
    var mayHideBuses = false
}

/// Gathers the systems, buses and links of a file: the first and second stage.
struct FileReader {
    private let diagnostics: DiagnosticsCollector
    private let effects: EffectTable
    private(set) var gathered = Gathered()

    /// A reader that reports to the given collector.
    init(_ diagnostics: DiagnosticsCollector, _ effects: EffectTable) {
        self.diagnostics = diagnostics
        self.effects = effects
    }

    /// Reads a file.
    static func read(_ file: ConfigurationFile, _ diagnostics: DiagnosticsCollector, _ effects: EffectTable) -> Gathered
    {
        var reader = FileReader(diagnostics, effects)
        reader.add(file)
        return reader.gathered
    }

    private mutating func add(_ file: ConfigurationFile) {
        let list = LayeredReader.read(file, diagnostics)
        gathered.brokenSystems += list.brokenSystems
        gathered.mayHideSystems = gathered.mayHideSystems || list.mayDefineSystems
        gathered.mayHideBuses = gathered.mayHideBuses || list.mayDefineBuses
        for document in list.documents {
            gathered.linkNodes += WrittenLinks.links(of: document.root)
            add(document)
        }
    }

    private mutating func add(_ document: Document) {
        let decoder = Decoder(source: document.source, diagnostics: diagnostics)
        guard var entries = decoder.entries(document.root, "a document", hint: Self.hint(on: document.root)) else {
            gathered.mayHideSystems = true
            gathered.mayHideBuses = true
            return
        }
        let isSystem = entries.contains { $0.key.text == "system" }
        entries = isSystem ? SystemDecoder.settled(entries, decoder) : WiringDecoder.settled(entries, decoder)
        var keyed = Keyed(entries: entries, span: document.root.mark)
        if let key = keyed.key("system") { keyed.span = key.span }
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
                // References may use the wrong spelling, too.
                if let name = keyed["system"]?.scalar?.text, name != system.name.text {
                    gathered.brokenSystems.append(name)
                }
                gathered.links += system.publications
                gathered.mayHideSystems =
                    gathered.mayHideSystems || (!system.isTemplate && !Names.isPublicName(system.name.text))
            } else {
                gathered.mayHideSystems = true
            }
        }
        // A key without a meaning may be meant to hold buses.
        if !isSystem, keyed["buses"] == nil,
            keyed.hasMisspelt("buses")
                || (keyed.hasForeign
                    && keyed.entries.contains { entry in
                        !known.contains(entry.key.text)
                            && entry.value.entriesIfAny?.contains { $0.hasOne(of: ["kind"]) } ?? false
                    })
        {
            gathered.mayHideBuses = true
        }
        if isWiring {
            let wiring = WiringDecoder(decoder).wiring(keyed)
            gathered.mayHideBuses = gathered.mayHideBuses || wiring.hidesBuses
            gathered.buses += wiring.buses
            gathered.links += wiring.links
            gathered.instances += wiring.instances
            gathered.groups += wiring.groups
            gathered.grants += wiring.grants
            if let limits = wiring.limits { gathered.limits.append(limits) }
            if let store = wiring.store { gathered.stores.append(store) }
        }
    }

    /// The advice on a document that is no mapping.
    private static func hint(on root: Node) -> String {
        if case .sequence(let items) = root.content, items.contains(where: \.isMapping) {
            return
                "write each as a document of its own, with a line '---' between them; a system begins with system: NAME"
        }
        return "a document is YAML; a system begins with system: NAME"
    }

    private mutating func complainOfKind(_ keyed: Keyed, _ decoder: Decoder) {
        gathered.mayHideSystems = true
        gathered.mayHideBuses = true
        let known = ["system"] + WiringDecoder.keys
        let misspelt = keyed.entries.first { nearestName(to: $0.key.text, among: known) != nil }
        let near = misspelt.flatMap { nearestName(to: $0.key.text, among: known) }
        let isOnlyPersist = !keyed.entries.isEmpty && keyed.entries.allSatisfy { $0.key.text == "persist" }
        let advice =
            isOnlyPersist
            ? "write persist in a system, or for all systems: store: { default: state }"
            : "begin a system with its name: system: NAME"
        decoder.report(
            .documentKind, at: misspelt?.key.span ?? keyed.span,
            "a document is a system, with the key 'system', or holds 'buses', 'links', 'instances', 'groups', "
                + "'access', 'limits' or 'store'",
            hint: misspelt?.key.text.lowercased() == "systems"
                ? "write a document for each, with a line '---' between them, that begins with its name: system: door"
                : near.map { "did you mean '\($0)'?" } ?? advice)
    }
}
