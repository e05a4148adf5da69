import CommonExpression

extension Linker {
    /// A link as written, and those that it stands for; nil: itself.
    private struct Link {
        var file: Int
        var index: Int
        var expanded: InstanceTable.Links?
    }

    mutating func addWiring(
        to whole: inout AnalysedConfiguration, _ systems: [String: WiringCompiler.System], _ instances: InstanceTable
    ) {
        var table = BusTable()
        let before = diagnostics.errors
        var expanded: [InstanceTable.Bus] = []
        var places: [NamedPlace] = []
        for (number, file) in files.enumerated() {
            for written in file.written.buses {
                for bus in instances.expanded(written) {
                    places.append(
                        NamedPlace(name: bus.bus.name, source: bus.bus.source, file: number, index: expanded.count))
                    expanded.append(bus)
                }
            }
        }
        // Unknown instances of a template have buses of unknown names.
        let wiring = WiringCompiler(
            systems: systems, systemNames: systems.keys.sorted(), templateNames: Set(instances.templates.keys),
            mayHideSystems: mayHideSystems, mayHideBuses: mayHideBuses || diagnostics.errors > before, context: context)
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
            let bus = context.compiling {
                context.withConstants(each.constants, of: each.instance, isChecked: false) {
                    wiring.bus(written, index: index)
                }
            }.value
            table.scopes[written.name.text] =
                place.isDoubled ? BusScope(index: index, type: .dyn, isBroken: true) : bus.scope
            whole.buses.append(AnalysedBus(definition: bus.definition, written: written))
        }
        for place in buses.others where !expanded[place.index].isBroken {
            let each = expanded[place.index]
            context.withConstants(each.constants, of: each.instance, isChecked: false) {
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
            let errors = diagnostics.errors
            if let generic = expanded.generic {
                context.withConstants(generic.constants, isGeneric: true) {
                    _ = wiring.link(generic.link, buses: table, template: generic.template)
                }
            }
            for link in expanded.links where diagnostics.errors == errors {
                context.withConstants(link.constants, of: link.instance, isChecked: link.isChecked) {
                    _ = wiring.link(link.link, buses: table)
                }
            }
        }
        let compiled = compiled(links, wiring, table)
        whole.links = compiled.map(\.link)
        // Several threads compile them by file, and the links of instances come in the order of their definitions.
        whole.links.sort { $0.definition.name < $1.definition.name }
        parts.links.reserveCapacity(compiled.count)
        for (link, part) in compiled { parts.links[link.definition.name] = part }
    }

    /// Compiles links, those of each part of the files on a thread of its own: what is found in a file comes in one
    /// order, however many there are.
    private func compiled(
        _ links: [Link], _ wiring: WiringCompiler, _ buses: BusTable
    ) -> [(link: AnalysedLink, part: CompiledParts.Link?)] {
        let done = Concurrency.map(threads) { part in
            let context = threads == 1 ? context : context.branch()
            let wiring = wiring.reporting(to: context)
            var compiled: [(link: AnalysedLink, part: CompiledParts.Link?)] = []
            for each in links where each.file * threads / files.count == part {
                let file = files[each.file]
                guard let expanded = each.expanded else {
                    let written = file.written.links[each.index]
                    if let link = link(InstanceTable.Link(link: written), file, wiring, context, buses) {
                        compiled.append(link)
                    }
                    continue
                }
                let errors = context.diagnostics.errors
                if let generic = expanded.generic {
                    context.withConstants(generic.constants, isGeneric: true) {
                        _ = wiring.link(generic.link, buses: buses, template: generic.template)
                    }
                }
                guard context.diagnostics.errors == errors else { continue }
                compiled += expanded.links.compactMap { link($0, file, wiring, context, buses) }
            }
            return (links: compiled, context: context)
        }
        for (_, branch) in done where branch !== context { context.add(branch) }
        return done.flatMap(\.links)
    }

    /// One link, compiled or used again; nil after reporting.
    private func link(
        _ link: InstanceTable.Link, _ file: CompiledFile, _ wiring: WiringCompiler, _ context: CompilationContext,
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
        let compiled = context.compiling {
            context.withConstants(link.constants, of: link.instance, isChecked: link.isChecked) {
                wiring.link(link.link, buses: buses)
            }
        }
        guard let value = compiled.value else { return nil }
        let analysed = AnalysedLink(definition: value.definition, written: link.link, isConstant: value.isConstant)
        return (analysed, compiled.isReusable ? CompiledParts.Link(file: file, ends: ends, analysed: analysed) : nil)
    }
}
