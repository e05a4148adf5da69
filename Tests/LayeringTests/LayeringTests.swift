import Testing

/// This repository's files, held against its rules.
@Suite
struct `The repository` {
    private let repository = Repository()

    @Test
    func `imports only downwards, as the table of layers allows`() throws {
        let files = try Repository.swift.get()
        try #require(files.contains { $0.module != nil })
        let violations = files.flatMap { file in
            file.module.map { Rules.layering(file: file.file, module: $0, source: file.source) } ?? []
        }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `declares no dependency that the table of layers forbids`() throws {
        let manifest = try #require(try repository.textFiles().first { $0.file == "Package.swift" })
        try #require(!ManifestTarget.all(in: manifest.text).isEmpty)
        let violations = Rules.manifest(file: manifest.file, text: manifest.text)
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `explains every escape from the compiler's proofs`() throws {
        let violations = try Repository.swift.get().flatMap { Rules.escapes(file: $0.file, source: $0.source) }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `decides by codes and data, and not by the text of its own messages`() throws {
        let violations = try Repository.swift.get().filter { $0.module != nil }
            .flatMap { Rules.searchedMessages(file: $0.file, source: $0.source) }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `prints only in the module that prints`() throws {
        let violations = try Repository.swift.get().flatMap { file in
            file.module.map { Rules.printing(file: file.file, module: $0, source: file.source) } ?? []
        }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `blocks no thread of the concurrency pool in a test`() throws {
        let files = try Repository.swift.get().filter { $0.file.hasPrefix("Tests/") }
        try #require(files.count > 200)
        let violations = files.flatMap { Rules.waiting(file: $0.file, source: $0.source) }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `holds no marks of unfinished work and no path of one machine`() throws {
        // The rules' own tests must quote what the rules forbid.
        let files = try repository.textFiles().filter { $0.file != "Tests/LayeringTests/RulesTests.swift" }
        try #require(files.contains { $0.file == "Package.swift" })
        let violations = files.flatMap { Rules.leftovers(file: $0.file, text: $0.text) }
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `has no Swift or Python file that is too long`() throws {
        let swift = try Repository.swift.get().filter { $0.file.hasPrefix("Sources/") || $0.file.hasPrefix("Tests/") }
        try #require(swift.count > 500)
        let python = try ["Tests", "Benchmarks", "Documentation"].flatMap(repository.textFiles(below:))
            .filter { $0.file.hasSuffix(".py") }
        try #require(python.count > 50)
        let violations = Rules.length(files: swift.map { (file: $0.file, text: $0.text) } + python)
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    @Test
    func `has no folder with too many Swift files`() throws {
        let files = try Repository.swift.get().map(\.file)
            .filter { $0.hasPrefix("Sources/") || $0.hasPrefix("Tests/") }
        try #require(files.count > 500)
        let violations = Rules.folders(files: files)
        #expect(violations.isEmpty, "\(Self.list(violations))")
    }

    private static func list(_ violations: [Violation]) -> String {
        violations.map(\.description).joined(separator: "\n")
    }
}
