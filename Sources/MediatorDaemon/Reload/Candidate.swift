import Glibc
import MediatorConfiguration
import MediatorHost

/// A candidate: a configuration that was read and checked, and may become active.
struct Candidate: Sendable {
    let result: CompilationResult
    /// Its sources, without changes that have no effect.
    let sources: ConfigurationSources
    /// The links whose changes change nothing, since they are written no longer.
    let moot: [String]
    /// The configuration, if it may run: without errors, and where that is asked for, without warnings.
    let graph: Graph?
}

extension Daemon {
    /// Reads and checks a configuration with changes on top of it.
    ///
    /// - Parameter sources: the sources of the configuration before.
    func candidate(
        _ layers: ConfigurationLayers, _ layer: TransientLayer = TransientLayer(),
        after sources: ConfigurationSources? = nil
    ) -> Candidate {
        candidate(
            layers.read(reusing: sources?.contents), layer, values.remembering(),
            reusing: sources?.parts ?? CompiledParts())
    }

    /// Checks a configuration that was read, with changes on top of it.
    ///
    /// - Parameter known: the rights of users if they are known; nil to look accounts up.
    func candidate(
        _ contents: ConfigurationLayers.Contents, _ layer: TransientLayer, _ values: ExternalValues,
        reusing known: CompiledParts, access: AccessTable? = nil
    ) -> Candidate {
        var (result, moot) = ConfigurationCompiler.compile(
            contents: contents, layer: layer, effects: effects.schemas, kinds: kinds.kinds, values: values,
            now: Self.now(), reusing: known)
        let access =
            access ?? AccessTable(result.graph?.access ?? AccessRules(), own: geteuid(), accounts: accounts)
        if !access.diagnostics.isEmpty {
            result = CompilationResult(
                graph: result.graph, diagnostics: (result.diagnostics + access.diagnostics).sorted(),
                files: result.files,
                unavailable: result.unavailable, parts: result.parts)
        }
        let sources = ConfigurationSources(
            contents: contents, values: values, layer: layer.without(moot), parts: result.parts,
            access: access, diagnostics: Set(result.diagnostics))
        return Candidate(
            result: result, sources: sources, moot: moot,
            // A change of a link that no longer has an effect is reported, but is no fault of the files.
            graph: deniesWarnings && result.warnings > moot.count ? nil : result.graph)
    }
}
