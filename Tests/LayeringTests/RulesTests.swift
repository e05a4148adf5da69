import Testing

/// The rules themselves, on samples that keep them and samples that break them.
/// Written apart, so that the samples below are no paths themselves.
private let slash = "/"

@Suite
struct `The rules` {
    @Test(
        arguments: [
            ("import Glibc", "Glibc", nil, []),
            ("public import Logging", "Logging", "public", []),
            ("  package   import NIOCore", "NIOCore", "package", []),
            ("@_exported public import FeedbackKit", "FeedbackKit", "public", ["_exported"]),
            ("public @_exported import FeedbackKit", "FeedbackKit", "public", ["_exported"]),
            ("@preconcurrency\n@_spi(TestKit)\ninternal import A", "A", "internal", ["preconcurrency", "_spi"]),
            ("@testable import A", "A", nil, ["testable"]),
            ("import struct Foundation.Date", "Foundation", nil, []),
            ("private import func Glibc.unistd.write", "Glibc", "private", []),
            ("import NIOCore.Something", "NIOCore", nil, []),
            ("#if canImport(Musl)\nimport Musl\n#endif", "Musl", nil, []),
            ("let a = 1; import B", "B", nil, []),
            ("/* note */ import /* odd */ B", "B", nil, []),
            (#"let s = "a\("b")" // import C"# + "\nimport B", "B", nil, []),
            ("let s = \"\"\"\n  import C \\(f(\"\"\"\nimport D\n\"\"\"))\n  \"\"\"\nimport B", "B", nil, []),
            ("let s = #\"a\"b\\(\"# /* import C */\nimport B", "B", nil, []),
        ] as [(String, String, String?, [String])])
    func `An import is found in whatever form`(text: String, module: String, access: String?, attributes: [String])
        throws
    {
        let imports = Import.all(in: SwiftSource(text))
        let found = try #require(imports.first)
        #expect(imports.count == 1)
        #expect(found.module == module)
        #expect(found.access == access)
        #expect(found.attributes == attributes)
    }

    @Test(arguments: [
        "// import A", "/* a /* b */ import A */", "/// ```\n/// import A\n/// ```", "let text = \"import A\"",
        "let text = \"\"\"\nimport A\n\"\"\"", "let a = b.import", "func `import`() {}", "canImport(A)", "important()",
    ])
    func `What only looks like an import is none`(text: String) {
        #expect(Import.all(in: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        ("FeedbackKit", "import Synchronization\nimport DequeModule"), ("Varlink", "public import NIOPosix"),
        ("MediatorHost", "import FeedbackKit\npublic import MediatorConfiguration\nimport FoundationEssentials"),
        ("mediatord", "import MediatorDaemon"),
    ])
    func `An import the table allows is no violation`(module: String, text: String) {
        #expect(Rules.layering(file: "f", module: module, source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        ("FeedbackKit", "Foundation"), ("FeedbackKit", "FoundationEssentials"), ("FeedbackKit", "Dispatch"),
        ("FeedbackKit", "Logging"), ("CommonExpression", "FoundationEssentials"), ("CommonExpression", "FeedbackKit"),
        ("MediatorConfiguration", "FeedbackKit"), ("MediatorHost", "Varlink"), ("MediatorHost", "NIOCore"),
        ("MediatorControl", "MediatorHost"), ("MediatorControl", "NIOCore"), ("MediatorCommands", "MediatorDaemon"),
        ("Varlink", "MediatorControl"), ("mediatord", "FeedbackKit"), ("mediatorctl", "MediatorControl"),
        ("MediatorDaemon", "MediatorCommands"), ("SideEffects", "Foundation"), ("Systemd", "MediatorHost"),
    ])
    func `A planted import against the layers is found, with its line`(module: String, imported: String) {
        let source = SwiftSource("import Synchronization\n\npublic import \(imported)\n")
        let found = Rules.layering(file: "Sources/\(module)/F.swift", module: module, source: source)
        #expect(found.map(\.description) == ["Sources/\(module)/F.swift:3: \(module) may not import \(imported)"])
    }

    @Test
    func `A module without a row and an import that re-exports are found`() {
        #expect(Rules.layering(file: "f", module: "Utilities", source: SwiftSource("")).count == 1)
        let exported = SwiftSource("@_exported import FeedbackKit")
        #expect(Rules.layering(file: "f", module: "MediatorDaemon", source: exported).count == 1)
        let testable = SwiftSource("@testable import FeedbackKit")
        #expect(Rules.layering(file: "f", module: "MediatorDaemon", source: testable).count == 1)
    }

    @Test
    func `A manifest is read target by target`() {
        let manifest = """
            targets: [
                // .target(name: "Gone"),
                .target(name: "CommonExpression", swiftSettings: strict),
                .target(
                    name: "MediatorHost",
                    dependencies: [
                        "FeedbackKit", .product(name: "Logging", package: "swift-log"), .target(name: "Varlink"),
                        "MediatorConfiguration",
                    ],
                    swiftSettings: strict
                ),
                .executableTarget(name: "mediatord", dependencies: ["MediatorDaemon", "Systemd"]),
                .testTarget(name: "AllTests", dependencies: ["FeedbackKit", "Varlink"]),
                .target(name: "Utilities"),
            ]
            """
        let targets = ManifestTarget.all(in: manifest)
        #expect(targets.map(\.name) == ["CommonExpression", "MediatorHost", "mediatord", "AllTests", "Utilities"])
        #expect(targets.map(\.line) == [3, 4, 12, 13, 14])
        #expect(targets[1].dependencies == ["FeedbackKit", "Logging", "Varlink", "MediatorConfiguration"])
        #expect(
            Rules.manifest(file: "P", text: manifest).map(\.description) == [
                "P:4: MediatorHost may not depend on Varlink", "P:12: mediatord may not depend on Systemd",
                "P:14: Utilities has no row in the table of layers",
            ])
    }

    @Test(arguments: [
        "final class A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1", "let a = try! f()",
        "let a = unsafeBitCast(b, to: C.self)", "// why\n\n\n\nlet a = try! f()", "let s = \"\\(try! f())\"",
        "let s = \"// why\"; let a = try! f()",
    ])
    func `An escape without a reason is found`(text: String) {
        let found = Rules.escapes(file: "f", source: SwiftSource(text))
        #expect(found.map(\.line) == [text.split(separator: "\n", omittingEmptySubsequences: false).count])
    }

    @Test(arguments: [
        "// The lock guards it.\nfinal class A: @unchecked Sendable {}", "let a = try! f() // Cannot fail.",
        "/* Why.\n*/\n\nlet a = try! f()", "// try! is not used here", "let s = \"try! again\"", "let a = try !b()",
    ])
    func `An escape with a reason, and what is none, are left alone`(text: String) {
        #expect(Rules.escapes(file: "f", source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        "if error.message.hasPrefix(\"a\") {}", "message.contains(expected)", "error.message?.contains(\"a\")",
        "\"\\(hint!.replacing(\"a\", with: \"\"))\"", "if error.description\n    .hasSuffix(\"a\") {}",
        "// why\n\n\n\nmessage.contains(a)",
    ])
    func `A search in a message without a reason is found`(text: String) {
        #expect(Rules.searchedMessages(file: "f", source: SwiftSource(text)).count == 1)
    }

    @Test(arguments: [
        "// The text of curl.\nif error.message.hasPrefix(\"a\") {}", "messages.contains(a)", "message.map(\\.text)",
        "\"message.contains(a)\"", "text.contains(message)", "message",
    ])
    func `A search in a foreign message, and what is none, are left alone`(text: String) {
        #expect(Rules.searchedMessages(file: "f", source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        "print(\"a\")", "Swift.print(1)", "if a { print (b) }", "debugPrint(a)", "dump(a)", "\"\\(print(1))\"",
    ])
    func `A print is found, except where printing belongs`(text: String) {
        #expect(Rules.printing(file: "f", module: "MediatorHost", source: SwiftSource(text)).count == 1)
        #expect(Rules.printing(file: "f", module: "MediatorCommands", source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        "// print(a)", "footprint(a)", "printer.print(a)", "func print(a: Int) {}", "\"print(a)\"", "print",
    ])
    func `What only looks like a print is left alone`(text: String) {
        #expect(Rules.printing(file: "f", module: "MediatorHost", source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        "while isBusy { sched_yield() }", "let door = DispatchSemaphore(value: 0)", "usleep(100)", "nanosleep(&a, nil)",
        "private let condition = NSCondition()", "DispatchQueue.concurrentPerform(iterations: 8) { send($0) }",
        "Foundation.Thread.sleep(forTimeInterval: 1)", "while isBusy {}", "while queue.withLock({ !$0.isEmpty }) { }",
        "while let a = next(), a.isOld {\n// Wait.\n}", "repeat {} while isBusy", "if a { b() }\nwhile isBusy {}",
        "\"\\(a.map { _ in usleep(1) })\"",
    ])
    func `A wait that blocks or spins is found in a test, and only there`(text: String) {
        let source = SwiftSource(text)
        for file in ["Tests/AllTests/F.swift", "Tests/Integration/a/F.swift"] {
            #expect(Rules.waiting(file: file, source: source).count == 1)
        }
        for file in ["Tests/TestSupport/F.swift", "Tests/Fuzz/F.swift", "Sources/FeedbackKit/F.swift", "Package.swift"]
        {
            #expect(Rules.waiting(file: file, source: source) == [])
        }
    }

    @Test
    func `A wait that blocks is found with its line and with what to use instead`() {
        let source = SwiftSource("func f() {\n    g()\n    usleep(1)\n}\n")
        let found = Rules.waiting(file: "Tests/AllTests/F.swift", source: source)
        #expect(found.map(\.line) == [3])
        #expect(found.allSatisfy { $0.message.contains("suspend(while:)") && $0.message.contains("ThreadSemaphore") })
    }

    @Test(arguments: [
        "// while isBusy { sched_yield() }", "\"usleep(1)\"", "ThreadSemaphore().wait()", "usleeper(1)",
        "try await Task.sleep(for: .seconds(1))", "await suspend(while: isBusy)", "while let a = next() { a() }",
        "while await events.next() != nil {}", "repeat { a = f() } while a < 0\ndefer {}", "thread.sleep()",
        "func suspend(while condition: () -> Bool) {}", "while isBusy { await Task.yield() }\nfunc f() {}",
    ])
    func `A wait that suspends, and what only looks like one that blocks, are left alone`(text: String) {
        #expect(Rules.waiting(file: "Tests/AllTests/F.swift", source: SwiftSource(text)) == [])
    }

    @Test(arguments: [
        "// TODO: later", "# FIXME", "XXX", "run: /home/me/bin/x", "path = \"\(slash)root/x\"", "cd \(slash)work/x",
        "/Users/me/x",
    ])
    func `Unfinished work and a machine's path are found in any file`(text: String) {
        #expect(Rules.leftovers(file: "f", text: "a\n\(text)\nb").map(\.line) == [2])
    }

    @Test(arguments: [
        "TODOS", "mastodon TODOx", "https://example.org/home/page", "src\(slash)work/x", "~\(slash)work/x",
        "/proc/1\(slash)root/etc",
        "\\(path)\(slash)root/etc", "/homework/", "the root\(slash)work/home",
    ])
    func `What only looks like them is left alone`(text: String) {
        #expect(Rules.leftovers(file: "f", text: text) == [])
    }

    @Test(arguments: [(400, [:], []), (401, [:], [401]), (410, ["f": 410], []), (411, ["f": 410], [411])])
    func `A file that is too long is found, with the first line too many`(
        lines: Int, exceptions: [String: Int], found: [Int]
    ) {
        let text = String(repeating: "a\n", count: lines)
        #expect(Rules.length(files: [("f", text)], exceptions: exceptions).map(\.line) == found)
        // The last line may have no end.
        #expect(Rules.length(files: [("f", String(text.dropLast()))], exceptions: exceptions).map(\.line) == found)
    }

    @Test(arguments: [400, nil] as [Int?])
    func `An exception for a short or missing file is found`(lines: Int?) {
        let files = lines.map { [("f", String(repeating: "a\n", count: $0))] } ?? []
        let found = Rules.length(files: files, exceptions: ["f": 410])
        #expect(found.map(\.file) == ["f"])
        #expect(found.first?.message.contains("remove it") == true)
    }

    @Test(arguments: [(30, [:], []), (31, [:], ["a/b"]), (33, ["a/b": 33], []), (34, ["a/b": 33], ["a/b"])])
    func `A folder with too many files is found, and files in its subfolders do not count`(
        count: Int, exceptions: [String: Int], found: [String]
    ) {
        let files = (0..<count).map { "a/b/f\($0).swift" } + ["a/b/c/g.swift"]
        #expect(Rules.folders(files: files, exceptions: exceptions).map(\.file) == found)
    }

    @Test
    func `An exception for a folder that is small enough is found`() {
        let found = Rules.folders(files: ["a/f.swift"], exceptions: ["a": 31, "gone": 31])
        #expect(found.map(\.file) == ["a", "gone"])
        #expect(found.allSatisfy { $0.message.contains("remove it") })
    }
}
