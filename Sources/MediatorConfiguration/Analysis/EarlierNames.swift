// The checks of the earlier names of systems.
extension GraphAnalysis {
    /// Reports an earlier name that another system has, now or earlier.
    func checkEarlierNames() {
        let names = Set(whole.systems.map(\.scope.name))
        var seen: Set<String> = []
        for system in whole.systems {
            guard let written = system.written, let was = system.definition?.was, let span = written.was?.span else {
                continue
            }
            if names.contains(was) {
                report(
                    .conflictingKeys, in: written.source, at: span,
                    "'\(was)' cannot be the earlier name of '\(system.scope.name)', because there is a system of this name",
                    hint: "remove 'was', or that system")
            } else if !seen.insert(was).inserted {
                report(
                    .duplicateName, in: written.source, at: span, "'\(was)' is the earlier name of two systems",
                    hint: "keep one of them")
            }
        }
    }
}
