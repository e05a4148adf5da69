import CommonExpression

extension GraphAnalysis {
    func checkBus(_ index: Int) {
        let bus = whole.buses[index]
        guard let definition = bus.definition, !suppression.isAbout(bus.written.source),
            !suppression.mayConcern(definition.name)
        else { return }
        let writers = joints.writers[index].map { whole.links[$0] }
        let readers = joints.readers[index].map { whole.links[$0] }
        let use = bus.written.fromOutside
        let isWritten = !writers.isEmpty || use == .write || use == .both
        let isRead = !readers.isEmpty || use == .read || use == .both
        let source = bus.written.source
        let span = bus.written.name.span
        if !isWritten {
            warn(
                .unwrittenBus, about: .bus(index), in: source, at: span,
                isRead
                    ? "nothing puts a value on the bus '\(definition.name)'"
                    : "nothing uses the bus '\(definition.name)'",
                hint: isRead
                    ? "if values come from outside, such as by mediatorctl publish, add fromOutside: write"
                    : "add links, or fromOutside: both if other programs use it")
        } else if !isRead {
            warn(
                .unreadBus, about: .bus(index), in: source, at: span,
                "nobody takes the values of the bus '\(definition.name)'",
                hint: "if other programs watch it, add fromOutside: read")
        }
        if isWritten, isRead { checkMatches(definition, use, writers, readers) }
    }

    /// Returns whether another link puts a value on a bus that a reader lets through, or the bus begins with one.
    private func replaces(
        _ link: AnalysedLink, _ bus: BusDefinition, _ writers: [AnalysedLink], _ filters: [ValueFilter]
    ) -> Bool {
        func isWanted(_ value: Known) -> Bool { filters.contains { $0.admits(value) != false } }
        if let initial = bus.initial, isWanted(.whole(initial)) { return true }
        return writers.contains { writer in
            guard writer !== link, case .systemToBus(_, let selector, let programs) = writer.definition.form else {
                return false
            }
            return selector.states.contains { state in programs[state].map { isWanted(Known($0)) } ?? false }
        }
    }

    /// Warns of values that no reader lets through, and of conditions that no value fulfils.
    private func checkMatches(
        _ bus: BusDefinition, _ use: ExternalUse?, _ writers: [AnalysedLink], _ readers: [AnalysedLink]
    ) {
        let filters = readers.compactMap { reader -> ValueFilter? in
            if case .busToSystem(_, let filter, _) = reader.definition.form { filter } else { nil }
        }
        // A value that another link writes cannot be the intended one.
        let given = writers.compactMap { writer -> String? in
            if case .systemToBus(_, _, let node) = writer.written.form { node.scalar?.text } else { nil }
        }
        let wanted = filters.compactMap { filter -> String? in
            guard case .equals(.string(let text)) = filter, !given.contains(text) else { return nil }
            return text
        }
        var written: [Known] = bus.initial.map { [.whole($0)] } ?? []
        var isMatched = true
        for writer in writers {
            guard case .systemToBus(_, let selector, let programs) = writer.definition.form,
                case .systemToBus(_, _, let node) = writer.written.form
            else { continue }
            let values = selector.states.compactMap { programs[$0].map { Known($0) } }
            written += values
            guard use != .read, use != .both, !values.isEmpty else { continue }
            let isTaken =
                readers.contains(where: \.isConstant)
                || values.contains { value in filters.contains { $0.admits(value) != false } }
            guard !isTaken else { continue }
            isMatched = false
            // A value without readers may be there to replace a value that has readers.
            if bus.kind == .currentValue, replaces(writer, bus, writers, filters),
                node.scalar.flatMap({ nearestName(to: $0.text, among: wanted) }) == nil
            {
                continue
            }
            let near = node.scalar.flatMap { nearestName(to: $0.text, among: wanted) }
            warn(
                .unmatchedValue, about: .link(writer), in: writer.written.source, at: node.mark,
                "no reader of the bus '\(bus.name)' lets this value through",
                hint: near.map { "did you mean '\($0)'?" } ?? "its readers are "
                    + readers.prefix(8).map { "'\($0.definition.name)'" }.joined(separator: ", "))
        }
        guard isMatched, use != .write, use != .both else { return }
        for reader in readers where !reader.isConstant {
            guard case .busToSystem(_, let filter, _) = reader.definition.form,
                !written.contains(where: { filter.admits($0) != false }),
                case .busToSystem(_, let value, _) = reader.written.form
            else { continue }
            let texts = written.compactMap { known -> String? in
                if case .whole(.string(let text)) = known { text } else { nil }
            }
            let near = value?.scalar.flatMap { nearestName(to: $0.text, among: texts) }
            warn(
                .unmatchedCondition, about: .link(reader), in: reader.written.source,
                at: value?.mark ?? reader.written.condition?.span ?? reader.written.name.span,
                "no value that is put on the bus '\(bus.name)' fulfils this",
                hint: near.map { "did you mean '\($0)'?" }
                    ?? "if values come from outside too, add fromOutside: write to the bus")
        }
    }
}
