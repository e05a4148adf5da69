/// All that was compiled, beside what was written of it: what the checks of the whole look at.
struct AnalysedConfiguration {
    /// By the index that links use.
    var systems: [AnalysedSystem] = []
    /// By the index that links use.
    var buses: [AnalysedBus] = []
    /// Those without a mistake.
    var links: [AnalysedLink] = []
}

/// A system, compiled and as written.
struct AnalysedSystem: Sendable {
    /// Nil if something is wrong with it.
    let definition: SystemDefinition?
    /// Of an instance, its template; nil if that is not there.
    let written: WrittenSystem?
    let scope: SystemScope
    /// Which states can be reached; empty if something is wrong with it.
    let reachable: [Bool]

    /// A system.
    init(definition: SystemDefinition?, written: WrittenSystem?, scope: SystemScope) {
        self.definition = definition
        self.written = written
        self.scope = scope
        reachable = definition?.reachableStates() ?? []
    }
}

/// A bus, compiled and as written.
struct AnalysedBus {
    /// Nil if something is wrong with it.
    let definition: BusDefinition?
    let written: WrittenBus
}

/// A link, compiled and as written.
struct AnalysedLink {
    let definition: LinkDefinition
    let written: WrittenLink
}
