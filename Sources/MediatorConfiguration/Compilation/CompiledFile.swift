/// What one file gives by itself: what is written in it, its systems compiled, and what there is to be said of both.
///
/// It depends on the file, the side effects and kinds that there are, and perhaps values from elsewhere; on no other
/// file. So it can be used again for as long as those stay as they are.
final class CompiledFile: Sendable {
    /// The file, with its drop-ins.
    let file: ConfigurationFile
    /// What is written in it. Its systems are templates; the others are compiled.
    let written: Gathered
    /// Its systems that are no templates.
    let systems: [CompiledSystem]
    /// What was found while reading it.
    let findings: Findings.Part
    /// Whether a value from elsewhere had a part in it.
    let looksElsewhere: Bool
    /// When something that was found is so; nil: always.
    let span: TimeSensitivity?

    /// Reads a file and compiles its systems.
    init(_ file: ConfigurationFile, _ effects: EffectTable, _ session: Session) {
        self.file = file
        let reading = Findings()
        var written = FileReader.read(file, reading, effects)
        findings = reading.part
        var before = findings
        session.span = nil
        var looksElsewhere = false
        systems = written.systems.filter { !$0.isTemplate }.map { system in
            session.findings = Findings(continuing: before)
            session.unavailable = []
            session.looksElsewhere = false
            let scope = SystemScope(system, session: session)
            let definition = SystemCompiler(scope, system, session).system()
            before = session.findings.part
            looksElsewhere = looksElsewhere || session.looksElsewhere
            return CompiledSystem(
                name: system.name, source: system.source,
                analysed: AnalysedSystem(
                    definition: definition, written: system, scope: scope,
                    initialOrigin: system.initialState.map { session.origin($0.node) } ?? .written),
                findings: before, unavailable: session.unavailable)
        }
        written.systems.removeAll { !$0.isTemplate }
        self.written = written
        self.looksElsewhere = looksElsewhere
        span = session.span
    }
}

/// A compiled system that is no template's instance.
struct CompiledSystem: Sendable {
    /// Its name, as written.
    let name: Scalar
    /// Where that is written.
    let source: SourceText
    /// As compiled.
    let analysed: AnalysedSystem
    /// What was found while compiling it.
    let findings: Findings.Part
    /// The values that were not there.
    let unavailable: Set<UnavailableValue>
}
