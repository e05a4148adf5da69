public import CommonExpression

/// Compiles configuration files: to documents, to definitions as written, and to a graph.
///
/// One run finds every mistake in every file, and reports each once, at its place. The compiler touches no disk. A host
/// can start every graph that it returns.
public enum ConfigurationCompiler {
    /// Compiles files. Their order decides only which of two systems of one name is called the second. Linear in the
    /// files' size, unless rules under `any` name `state`: those cost once a state.
    ///
    /// - Parameters:
    ///   - files: The files' bytes.
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems.
    ///   - values: The source of values from elsewhere.
    ///   - now: The time at which initial states are computed as a check, and at which calendar times have passed; nil:
    ///     no such checks.
    public static func compile(
        files: [ConfigurationFile], effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none,
        now: Timestamp? = nil
    ) -> CompilationResult {
        compile(files: files, effects: effects, kinds: kinds, values: values, unreadable: [], now: now)
    }

    /// Compiles files, and adds the diagnostics of reading them.
    ///
    /// - Parameters:
    ///   - known: The cache of the last compilation.
    ///   - threads: The number of threads; nil: as many as are worth it. The result is the same.
    package static func compile(
        files: [ConfigurationFile], effects: [EffectSchema], kinds: [SystemKind] = [], values: ExternalValues,
        unreadable: [Diagnostic], now: Timestamp?, reusing known: CompiledParts = CompiledParts(), threads: Int? = nil
    ) -> CompilationResult {
        let diagnostics = DiagnosticsCollector()
        for diagnostic in unreadable { diagnostics.report(diagnostic) }
        let setting = CompiledParts.Setting(effects: effects, kinds: kinds, values: values)
        let known = known.usable(in: setting, now: now)
        let areSorted = zip(files, files.dropFirst()).allSatisfy { $0.path < $1.path }
        let sorted = areSorted ? files : files.sorted { $0.path < $1.path }
        var paths = sorted.map(\.path)
        for file in sorted where !file.dropIns.isEmpty { paths += file.dropIns.map(\.path) }
        let kinds = KindTable(kinds)
        var compiled: [CompiledFile] = []
        var threads = threads
        if paths.count > ConfigurationLimits.files {
            let message = "\(paths.count) files are more than the \(ConfigurationLimits.files) that are allowed"
            diagnostics.report(Diagnostic(code: .tooLarge, message: message))
        } else {
            let effects = EffectTable(effects)
            let again = sorted.map { known.compiled($0) }
            let count = Concurrency.parts(threads ?? Concurrency.threads(for: again.count { $0 == nil }))
            let parts = Concurrency.map(count) { part in
                let context = CompilationContext(DiagnosticsCollector(), values, kinds, known.types, now: now)
                return zip(Concurrency.part(part, of: sorted, in: count), Concurrency.part(part, of: again, in: count))
                    .map { file, again in again ?? CompiledFile(file, effects, context) }
            }
            compiled = parts.flatMap { $0 }
            threads = threads ?? Concurrency.threads(for: sorted.count)
        }
        var linker = Linker(
            compiled, CompilationContext(diagnostics, values, kinds, known.types, now: now), setting, known: known,
            isIncomplete: unreadable.contains { $0.severity == .error }, threads: threads ?? 1)
        let graph = linker.linkedGraph(now: now)
        return CompilationResult(
            graph: diagnostics.hasErrors ? nil : graph, diagnostics: diagnostics.sorted(), files: paths.sorted(),
            unavailable: linker.unavailable, parts: linker.reusable)
    }
}
