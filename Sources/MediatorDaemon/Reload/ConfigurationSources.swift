import MediatorConfiguration

/// The sources of a configuration. The daemon keeps those of the active one, so it can change a link without reading
/// the disk again.
struct ConfigurationSources: Sendable {
    /// The files with their contents.
    var contents: ConfigurationLayers.Contents
    /// The values of external references at that time.
    var values: ExternalValues
    /// The changes since, which are in no file.
    var layer: TransientLayer
    /// The compiled files, for the next compilation to use.
    var parts: CompiledParts
    /// The rights of users, with the accounts at that time.
    var access: AccessTable
    /// The diagnostics of this configuration.
    var diagnostics: Set<Diagnostic>
}
