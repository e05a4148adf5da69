public import CommonExpression

/// Compiles configuration files: documents, then what was written, then what it means.
///
/// Every mistake in every file is found in one run, each reported once, where it was made. It touches no disk, and
/// what it accepts a host can start.
public enum ConfigurationCompiler {
    /// Compiles files, in any order: the order changes nothing but which of two systems of one name is called the
    /// second. Linear in the files' size as long as rules under `any` do not name `state`; those cost once a state.
    ///
    /// - Parameters:
    ///   - files: The files' bytes.
    ///   - effects: The side effects that there are.
    ///   - kinds: The kinds of systems that there are.
    ///   - values: Where what is marked as coming from outside comes from.
    ///   - now: The time at which initial states are computed, to see that they can be, and at which
    ///     calendar times have passed; nil: they are not.
    public static func compile(
        files: [ConfigurationFile], effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none,
        now: Timestamp? = nil
    ) -> CompilationResult {
        compile(files: files, effects: effects, kinds: kinds, values: values, unreadable: [], now: now)
    }

    /// Compiles files, with what was found while reading them.
    ///
    /// - Parameters:
    ///   - known: What was compiled before, to be used again where nothing has changed.
    ///   - threads: How many threads may work at once; nil: as many as are worth it. The result is the same.
    package static func compile(
        files: [ConfigurationFile], effects: [EffectSchema], kinds: [SystemKind] = [], values: ExternalValues,
        unreadable: [Diagnostic], now: Timestamp?, reusing known: CompiledParts = CompiledParts(), threads: Int? = nil
    ) -> CompilationResult {
        let findings = Findings()
        for diagnostic in unreadable { findings.report(diagnostic) }
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
            findings.report(Diagnostic(code: .tooLarge, message: message))
        } else {
            let effects = EffectTable(effects)
            let again = sorted.map { known.compiled($0) }
            let count = Concurrency.parts(threads ?? Concurrency.threads(for: again.count { $0 == nil }))
            let parts = Concurrency.map(count) { part in
                let session = Session(Findings(), values, kinds, known.types, now: now)
                return zip(Concurrency.part(part, of: sorted, in: count), Concurrency.part(part, of: again, in: count))
                    .map { file, again in again ?? CompiledFile(file, effects, session) }
            }
            compiled = parts.flatMap { $0 }
            threads = threads ?? Concurrency.threads(for: sorted.count)
        }
        let continued =
            findings.hasErrors
            ? nil
            : Continuation.outcome(
                of: compiled, after: known, setting, Session(Findings(), values, kinds, known.types, now: now), now: now
            )
        if let continued {
            findings.add(continued.findings)
            return CompilationResult(
                graph: continued.graph, diagnostics: findings.sorted(), files: paths.sorted(), parts: continued.parts)
        }
        var assembly = Assembly(
            compiled, Session(findings, values, kinds, known.types, now: now), setting, known: known,
            isIncomplete: unreadable.contains { $0.severity == .error }, threads: threads ?? 1)
        let graph = assembly.graph(now: now)
        return CompilationResult(
            graph: findings.hasErrors ? nil : graph, diagnostics: findings.sorted(), files: paths.sorted(),
            unavailable: assembly.unavailable, parts: assembly.reusable)
    }
}
