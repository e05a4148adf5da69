/// One file of a configuration, in memory.
public struct ConfigurationFile: Sendable, Hashable {
    /// The path to show in messages; `<stdin>` for standard input.
    public var path: String
    /// The bytes, UTF-8 with or without a byte order mark.
    public var contents: [UInt8]
    /// The files that change it, in any order: they are applied in the order of their names without directories. They
    /// have none of their own.
    public var dropIns: [ConfigurationFile] = []
    /// A Boolean value that indicates whether it is not on a disk, but a change at run time (``TransientLayer``). As a
    /// drop-in it is applied after all others.
    public var isTransient = false

    /// A file of the given bytes.
    public init(path: String, contents: [UInt8]) {
        self.path = path
        self.contents = contents
    }

    /// The drop-ins in the order in which they are applied.
    var orderedDropIns: [ConfigurationFile] {
        dropIns.sorted { ($0.isTransient ? 1 : 0, $0.name, $0.path) < ($1.isTransient ? 1 : 0, $1.name, $1.path) }
    }

    /// A Boolean value that indicates whether it and its drop-ins have only comments and document marks.
    var holdsNothing: Bool {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = contents[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        while !rest.isEmpty {
            let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? rest.endIndex
            var line = rest[..<end].drop(while: isBlank)
            rest = rest[end...].dropFirst()
            if line.starts(with: "---".utf8) || line.starts(with: "...".utf8) {
                line = line.dropFirst(3).drop(while: isBlank)
            }
            guard line.isEmpty || line.first == UInt8(ascii: "#") else { return false }
        }
        return dropIns.allSatisfy(\.holdsNothing)
    }

    /// The path without its directories.
    package var name: Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path[...] }
        return path[path.utf8.index(after: slash)...]
    }

    /// A file of the given text.
    public init(path: String, text: String) {
        self.init(path: path, contents: Array(text.utf8))
    }
}

/// The result of a compilation: a graph if there is no error, and all diagnostics.
public struct CompilationResult: Sendable {
    /// The graph; nil if and only if some diagnostic is an error.
    public let graph: Graph?
    /// The diagnostics of all files, sorted.
    public let diagnostics: [Diagnostic]
    /// The files' paths, sorted.
    public let files: [String]
    /// The values from elsewhere that were not there, where that was allowed (``ExternalValues/mayBeMissing``), sorted by
    /// place. If there are any, the graph must not be started.
    public let unavailable: [UnavailableValue]
    /// The cache for the next compilation.
    public let parts: CompiledParts

    /// A result of the given parts.
    public init(
        graph: Graph?, diagnostics: [Diagnostic], files: [String], unavailable: [UnavailableValue] = [],
        parts: CompiledParts = CompiledParts()
    ) {
        self.parts = parts
        self.unavailable = unavailable
        self.graph = graph
        self.diagnostics = diagnostics
        self.files = files
    }
}
