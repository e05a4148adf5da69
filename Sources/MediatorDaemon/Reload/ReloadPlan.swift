import CLinux
import MediatorConfiguration
import MediatorControl
import MediatorHost

extension Reloader {
    /// Returns the effect of a reload, with the daemon's own directories or another one.
    ///
    /// - Parameter tellsKept: whether to include parts that do not change, which are most.
    func plan(_ directory: String?, dropsTransient: Bool, tellsKept: Bool) async -> PlanReply {
        let layers = directory.map { ConfigurationLayers([$0]) } ?? daemon.configuration
        // A planned configuration may be large, and malloc would keep the memory for a next one.
        defer { linux_trim() }
        return await CompileThread.run { [self] in
            let (running, sources) = running
            let candidate = daemon.candidate(layers, dropsTransient ? TransientLayer() : sources.layer, after: sources)
            let result = candidate.result
            let diagnostics = Self.diagnostics(result.diagnostics)
            let links = candidate.sources.layer.links
            if directory == nil, let refusal = refusal(of: candidate, insteadOf: sources) {
                return PlanReply(
                    valid: false, summary: refusal, errors: result.errors, warnings: result.warnings,
                    diagnostics: diagnostics, transient: links)
            }
            guard let graph = candidate.graph else {
                return PlanReply(
                    valid: false, summary: Self.rejection(result.diagnostics), errors: result.errors,
                    warnings: result.warnings, diagnostics: diagnostics, transient: links)
            }
            if case .initialState(let error)? = host.rejection(of: graph) {
                let more = error.diagnostics
                return PlanReply(
                    valid: false, summary: "\(ApplyError.initialState(error))", errors: result.errors + more.count,
                    warnings: result.warnings, diagnostics: Self.diagnostics(result.diagnostics + more),
                    transient: links)
            }
            let plan = running.plan(for: graph)
            let refusals = plan.refusals
            let summary = refusals.isEmpty ? plan.summary : "\(ApplyError.refused(refusals))"
            return PlanReply(
                valid: refusals.isEmpty, summary: summary, steps: PlanStep.all(of: plan, withKept: tellsKept),
                errors: 0,
                warnings: result.warnings, diagnostics: diagnostics, transient: links)
        }
    }
}
