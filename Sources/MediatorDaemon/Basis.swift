import Glibc
import MediatorConfiguration
import MediatorHost

/// What a configuration was made of. Kept of the one that runs, so that a link can be changed without a look at what
/// lies on disk by now.
struct Basis: Sendable {
    /// The files as they were read.
    var contents: ConfigurationLayers.Contents
    /// Where values from elsewhere were found, as they were.
    var values: ExternalValues
    /// What was changed since, and lies in no file.
    var layer: TransientLayer
    /// What was compiled of its parts, for the next to use again.
    var parts: CompiledParts
    /// Who may do what, with the accounts that there were.
    var access: AccessTable
    /// What there was to be said about all that.
    var findings: Set<Diagnostic>
}

/// A configuration that was read and checked, and perhaps is to run.
struct Draft: Sendable {
    let result: CompilationResult
    /// What it was made of, without changes that change nothing.
    let basis: Basis
    /// The links whose changes change nothing, since they are written no longer.
    let moot: [String]
    /// The configuration, if it may run: without errors, and where that is asked for, without warnings.
    let graph: Graph?
}

extension Daemon {
    /// Reads and checks a configuration with changes on top of it.
    ///
    /// - Parameter basis: what was read and compiled before.
    func draft(
        _ layers: ConfigurationLayers, _ layer: TransientLayer = TransientLayer(), after basis: Basis? = nil
    ) -> Draft {
        draft(
            layers.read(reusing: basis?.contents), layer, values.remembering(),
            reusing: basis?.parts ?? CompiledParts())
    }

    /// Checks a configuration that was read, with changes on top of it.
    ///
    /// - Parameter known: who may do what, if that is known already; nil: accounts are looked up.
    func draft(
        _ contents: ConfigurationLayers.Contents, _ layer: TransientLayer, _ values: ExternalValues,
        reusing known: CompiledParts, access: AccessTable? = nil
    ) -> Draft {
        var (result, moot) = ConfigurationCompiler.compile(
            contents: contents, layer: layer, effects: effects.schemas, kinds: kinds.kinds, values: values,
            now: Self.now(), reusing: known)
        let access =
            access ?? AccessTable(result.graph?.access ?? AccessRules(), own: geteuid(), accounts: accounts)
        if !access.findings.isEmpty {
            result = CompilationResult(
                graph: result.graph, diagnostics: (result.diagnostics + access.findings).sorted(), files: result.files,
                unavailable: result.unavailable, parts: result.parts)
        }
        let basis = Basis(
            contents: contents, values: values, layer: layer.without(moot), parts: result.parts,
            access: access, findings: Set(result.diagnostics))
        return Draft(
            result: result, basis: basis, moot: moot,
            // That a change of a link has become moot is told, but is no fault of what is written.
            graph: deniesWarnings && result.warnings > moot.count ? nil : result.graph)
    }
}
