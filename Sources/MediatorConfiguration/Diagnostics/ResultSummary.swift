extension CompilationResult {
    /// The number of errors.
    public var errors: Int { diagnostics.count { $0.severity == .error } }
    /// The number of warnings.
    public var warnings: Int { diagnostics.count { $0.severity == .warning } }

    /// A summary in one line: the size of a valid configuration, and the numbers of mistakes.
    ///
    ///     Config is valid: 4 systems, 3 buses and 8 links in 5 files
    ///     Config is not valid: 2 errors and 1 warning in 5 files
    ///     there is no configuration in Config; 1 warning
    ///
    /// - Parameters:
    ///   - name: The name of the configuration.
    ///   - deniesWarnings: Whether a warning makes it invalid.
    public func summary(of name: String, deniesWarnings: Bool = false) -> String {
        let place = files.isEmpty ? "" : " in \(Self.count(files.count, "file"))"
        let found = Self.list([
            errors > 0 ? Self.count(errors, "error") : nil, warnings > 0 ? Self.count(warnings, "warning") : nil,
        ])
        guard let graph, !(deniesWarnings && warnings > 0) else { return "\(name) is not valid: \(found)\(place)" }
        if files.isEmpty, graph.systems.isEmpty {
            return "there is no configuration in \(name)" + (found.isEmpty ? "" : "; \(found)")
        }
        let parts = Self.list([
            Self.count(graph.systems.count, "system"), Self.count(graph.buses.count, "bus", "buses"),
            Self.count(graph.links.count, "link"),
        ])
        return "\(name) is valid: \(parts)\(place)" + (found.isEmpty ? "" : "; \(found)")
    }

    private static func count(_ count: Int, _ one: String, _ many: String? = nil) -> String {
        "\(count) \(count == 1 ? one : many ?? one + "s")"
    }

    private static func list(_ parts: [String?]) -> String {
        let parts = parts.compactMap(\.self)
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
        return parts.dropLast().joined(separator: ", ") + " and " + last
    }
}
