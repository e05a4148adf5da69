import MediatorConfiguration
import MediatorControl
import MediatorHost

extension Reloader {
    /// Returns the effect of a reload, with the daemon's own directories or another one.
    ///
    /// - Parameter tellsKept: whether to include parts that do not change, which are most.
    func plan(_ directory: String?, dropsTransient: Bool, tellsKept: Bool) async -> PlanReply {
        let layers = directory.map { ConfigurationLayers([$0]) } ?? daemon.configuration
        return await CompileThread.run { [self] in
            let (running, basis) = running
            let draft = daemon.draft(layers, dropsTransient ? TransientLayer() : basis.layer, after: basis)
            let result = draft.result
            let findings = Self.findings(result.diagnostics)
            let links = draft.basis.layer.links
            if directory == nil, let refusal = refusal(of: draft, insteadOf: basis) {
                return PlanReply(
                    valid: false, summary: refusal, errors: result.errors, warnings: result.warnings,
                    findings: findings, transient: links)
            }
            guard let graph = draft.graph else {
                return PlanReply(
                    valid: false, summary: Self.rejection(result.diagnostics), errors: result.errors,
                    warnings: result.warnings, findings: findings, transient: links)
            }
            if case .initialState(let error)? = host.rejection(of: graph) {
                let more = error.diagnostics
                return PlanReply(
                    valid: false, summary: "\(ApplyError.initialState(error))", errors: result.errors + more.count,
                    warnings: result.warnings, findings: Self.findings(result.diagnostics + more), transient: links)
            }
            let plan = running.plan(for: graph)
            return PlanReply(
                valid: true, summary: plan.summary, steps: PlanStep.all(of: plan, withKept: tellsKept), errors: 0,
                warnings: result.warnings, findings: findings, transient: links)
        }
    }
}
