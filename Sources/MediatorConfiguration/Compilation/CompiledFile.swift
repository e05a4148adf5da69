/// Everything that one file gives by itself: its definitions as written, its compiled systems, and their diagnostics.
///
/// It depends on no other file, only on its own text, the side effects, the kinds, and perhaps values from elsewhere.
/// So it is used again as long as they stay the same.
final class CompiledFile: Sendable {
    /// The file, with its drop-ins.
    let file: ConfigurationFile
    /// The definitions as written. Its systems are templates; ``systems`` has the others.
    let written: Gathered
    /// Its systems that are no templates.
    let systems: [CompiledSystem]
    /// The diagnostics of reading it.
    let diagnostics: DiagnosticsCollector.Part
    /// The things on which its systems depend.
    let dependencies: Dependencies

    /// Reads a file and compiles its systems.
    init(_ file: ConfigurationFile, _ effects: EffectTable, _ context: CompilationContext) {
        self.file = file
        let reading = DiagnosticsCollector()
        var written = FileReader.read(file, reading, effects)
        diagnostics = reading.part
        var before = diagnostics
        var dependencies = Dependencies()
        systems = written.systems.filter { !$0.isTemplate }.map { system in
            let (compiled, diagnostics) = context.compiling(after: before) {
                let scope = SystemScope(system, context: context)
                return (scope: scope, definition: SystemCompiler(scope, system, context).system())
            }
            before = diagnostics
            dependencies.formUnion(compiled.dependencies)
            return CompiledSystem(
                name: system.name, source: system.source,
                analysed: AnalysedSystem(
                    definition: compiled.value.definition, written: system, scope: compiled.value.scope,
                    initialOrigin: system.initialState.map { context.origin($0.node) } ?? .written),
                diagnostics: diagnostics, dependencies: compiled.dependencies)
        }
        written.systems.removeAll { !$0.isTemplate }
        self.written = written
        self.dependencies = dependencies
    }
}

/// A compiled system that is no template's instance.
struct CompiledSystem: Sendable {
    /// Its name, as written.
    let name: Scalar
    /// The file of the name.
    let source: SourceText
    /// As compiled.
    let analysed: AnalysedSystem
    /// The diagnostics of compiling it.
    let diagnostics: DiagnosticsCollector.Part
    /// The things on which it depends.
    let dependencies: Dependencies
}
