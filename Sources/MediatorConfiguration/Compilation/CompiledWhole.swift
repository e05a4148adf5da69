/// A whole without an error, as it was compiled and checked: what a compilation goes on from when only a few files have
/// changed.
struct CompiledWhole: Sendable {
    /// The files, by path.
    var files: [CompiledFile]
    var analysed: AnalysedConfiguration
    /// The systems by name.
    var systems: [String: WiringCompiler.System]
    var buses: BusTable
    /// The templates' names.
    var templates: Set<String>
    var joints: Joints
    /// What was looked at to find loops.
    var survey: LoopFinder.Survey
    /// The warnings that more than a file gave rise to.
    var told: [Concern: [Diagnostic]]
    /// What shares the place of such a warning, told or not.
    var sharing: Set<Concern>
    /// Systems and buses that are named in what was checked for templates without instances, and leads nowhere.
    var namedByTemplates: Set<String>
    var graph: Graph
    /// Whether only what had changed since another was compiled for it.
    var isContinued = false
}
