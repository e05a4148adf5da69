/// The meaning of a configuration: every name is resolved, every expression checked and compiled, every type known.
///
/// A graph exists only if its configuration has no error, so a host can start it without further checks. References are
/// indices into the arrays beside them.
public struct Graph: Sendable {
    /// The systems, sorted by name.
    public var systems: [SystemDefinition]
    /// The buses, sorted by name.
    public var buses: [BusDefinition]
    /// The links, sorted by name.
    public var links: [LinkDefinition]
    /// The groups, sorted by name. A system is in one at most.
    public var groups: [GroupDefinition]
    /// The rights to the control socket, beside those of accounts that always have all rights.
    public var access: AccessRules
    /// The limits of memory for the data of systems and buses.
    public var limits: MemoryLimits

    /// A graph of the given parts.
    public init(
        systems: [SystemDefinition] = [], buses: [BusDefinition] = [], links: [LinkDefinition] = [],
        groups: [GroupDefinition] = [], access: AccessRules = AccessRules(),
        limits: MemoryLimits = .standard
    ) {
        self.systems = systems
        self.buses = buses
        self.links = links
        self.groups = groups
        self.access = access
        self.limits = limits
    }
}

/// A place in a configuration file. Line and column count from 1; columns count Unicode scalars.
public struct SourceLocation: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The file's path as given or found; `<stdin>` for standard input.
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column, from 1.
    public let column: Int

    /// A place in a file.
    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, as compilers print it.
    public var description: String { "\(file):\(line):\(column)" }

    /// Orders by file, then line, then column.
    public static func < (left: SourceLocation, right: SourceLocation) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}
