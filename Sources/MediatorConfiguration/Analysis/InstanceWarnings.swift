/// Warnings about the parts of templates. A warning counts only if it holds for every instance, since each one has
/// parameters of its own.
final class InstanceWarnings {
    /// The definition that a check is about.
    enum Subject {
        /// The system of this index.
        case system(Int)
        /// The bus of this index.
        case bus(Int)
        /// A link.
        case link(AnalysedLink)
    }

    /// A place in a file.
    private struct Place: Hashable {
        var path: String
        var offset: Int

        init(_ source: SourceText, _ span: Span) { (path, offset) = (source.path, span.start) }
    }

    /// A warning, whatever it says.
    private struct Warning: Hashable {
        var place: Place
        var code: Diagnostic.Code
    }

    /// The reports of a warning until now.
    private struct Reports {
        var first: () -> Void
        /// The name of the definition of the last report.
        var subject: String
        var count = 1
    }

    private let whole: AnalysedConfiguration
    /// The number of definitions made from each place.
    private var definitions: [Place: Int] = [:]
    private var pending: [Warning: Reports] = [:]

    /// Warnings about the parts of a configuration. Linear.
    init(_ whole: AnalysedConfiguration) {
        self.whole = whole
        for system in whole.systems {
            if let written = system.written { count(written.source, written.name.span) }
        }
        for bus in whole.buses { count(bus.written.source, bus.written.name.span) }
        for link in whole.links { count(link.written.source, link.written.name.span) }
    }

    private func count(_ source: SourceText, _ span: Span) { definitions[Place(source, span), default: 0] += 1 }

    /// Shows a warning if it holds for each instance of the template of its subject. The first report is shown.
    func add(
        _ code: Diagnostic.Code, about subject: Subject, in source: SourceText, at span: Span,
        show: @escaping () -> Void
    ) {
        let (place, name) = place(of: subject)
        let needed = place.flatMap { definitions[$0] } ?? 1
        guard needed > 1 else { return show() }
        let warning = Warning(place: Place(source, span), code: code)
        guard var reports = pending[warning] else {
            pending[warning] = Reports(first: show, subject: name)
            return
        }
        // Several states of one instance may lead to the same warning.
        guard reports.subject != name else { return }
        reports.subject = name
        reports.count += 1
        pending[warning] = reports
        if reports.count == needed { reports.first() }
    }

    /// The place from which a definition is made, and its name.
    private func place(of subject: Subject) -> (Place?, name: String) {
        switch subject {
        case .system(let index):
            let system = whole.systems[index]
            return (system.written.map { Place($0.source, $0.name.span) }, system.scope.name)
        case .bus(let index):
            let bus = whole.buses[index]
            return (Place(bus.written.source, bus.written.name.span), bus.definition?.name ?? "")
        case .link(let link):
            return (Place(link.written.source, link.written.name.span), link.definition.name)
        }
    }
}
