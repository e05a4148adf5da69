/// Finds out what grants mean: which systems and buses their patterns are of. Accounts stay names.
struct AccessCompiler {
    let context: CompilationContext
    /// The names of all systems, sorted; nil: some are unknown.
    let systems: [String]?
    /// The names of all buses, sorted; nil: some are unknown.
    let buses: [String]?

    /// The rules that grants make up; none if there are more than allowed.
    func rules(_ written: [WrittenGrant]) -> AccessRules {
        let count = written.reduce(0) {
            $0 + $1.users.count + $1.groups.count + ($1.systems?.count ?? 0) + ($1.buses?.count ?? 0)
        }
        if count > AccessRules.limit, let last = written.last {
            context.diagnostics.report(
                .tooLarge, in: last.source, at: last.span,
                "all of 'access' names \(count) users, groups, systems and buses, more than the \(AccessRules.limit) that "
                    + "are allowed")
            return AccessRules()
        }
        let (systemSet, busSet) = (Set(systems ?? []), Set(buses ?? []))
        return AccessRules(
            grants: written.map { grant in
                if let systems { check(grant.systems, "system", .unknownSystem, systems, systemSet, grant.source) }
                if let buses { check(grant.buses, "bus", .unknownBus, buses, busSet, grant.source) }
                var targets: AccessGrant.Targets?
                if grant.systems != nil || grant.buses != nil {
                    targets = AccessGrant.Targets(
                        systems: Set((grant.systems ?? []).map { NamePattern($0.text) }),
                        buses: Set((grant.buses ?? []).map { NamePattern($0.text) }))
                }
                return AccessGrant(
                    right: grant.right, users: accounts(grant.users, "user", grant.source),
                    groups: accounts(grant.groups, "group", grant.source), targets: targets,
                    source: grant.source.location(at: grant.span.start))
            })
    }

    /// Warns of names that do not exist, and of patterns that match no name.
    private func check(
        _ patterns: [Scalar]?, _ what: String, _ code: Diagnostic.Code, _ names: [String], _ set: Set<String>,
        _ source: SourceText
    ) {
        for written in patterns ?? [] {
            let pattern = NamePattern(written.text)
            if pattern.isWild {
                if names.contains(where: pattern.matches) { continue }
                context.diagnostics.report(
                    .moot, in: source, at: written.span, "the name of no \(what) is of the pattern '\(pattern)'",
                    severity: .warning)
            } else if !set.contains(written.text) {
                context.diagnostics.report(
                    code, in: source, at: written.span, "there is no \(what) '\(pattern)'",
                    hint: Names.hint(for: written.text, among: names))
            }
        }
    }

    /// Accounts, each with the diagnostic for an account that does not exist.
    private func accounts(_ written: [Scalar], _ what: String, _ text: SourceText) -> [AccessGrant.Account] {
        written.map { name in
            let (source, span) = text.resolved(name.span)
            let excerpt = source.excerpt(of: span)
            return AccessGrant.Account(
                text: name.text,
                unknown: Diagnostic(
                    severity: .warning, code: .unknownAccount, location: source.location(at: span.start),
                    message: "there is no \(what) '\(name.text)' on this machine: nothing is granted to it",
                    hint: "when there is one, `mediatorctl reload`",
                    excerpt: excerpt.text.isEmpty ? nil : excerpt.text, caretOffset: excerpt.caretOffset,
                    caretLength: excerpt.caretLength))
        }
    }
}
