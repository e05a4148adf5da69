import Foundation
import MediatorConfiguration
import Testing

/// Compares the pages about diagnostics with the list of codes and with the diagnostics that their examples give.
@Suite(.serialized) struct `The pages about diagnostics` {
    private static let folder = Snapshots.repository.appending(path: "Documentation/Reference")

    /// The pages, in the order of the codes that they describe.
    private static let names = ["Files", "YAML", "Keys", "Names", "Values", "Expressions", "Rules", "Whole", "Use"]

    private static var index: URL { folder.appending(path: "Diagnostics.md") }

    private static func url(of page: String) -> URL { folder.appending(path: "Diagnostics/\(page).md") }

    /// A page: its introduction, and a section for each of its codes.
    private struct Page {
        var name: String
        var intro: String
        var sections: [Section]
    }

    /// A section of a page: a heading with the code, text, an example and the diagnostics that it gives.
    private struct Section {
        var code: String
        var body: String

        /// The first block of a language.
        func block(_ language: String) -> String? {
            guard let start = body.range(of: "```\(language)\n"),
                let end = body.range(of: "\n```\n", range: start.upperBound..<body.endIndex)
            else { return nil }
            return String(body[start.upperBound..<end.lowerBound]) + "\n"
        }

        /// The text without its example.
        var behindExample: Substring {
            guard let start = body.range(of: "```yaml\n"),
                let end = body.range(of: "\n```\n", range: start.upperBound..<body.endIndex)
            else { return body[...] }
            return body[end.upperBound...]
        }
    }

    private static func pages() throws -> [Page] {
        try names.map { name in
            let parts = try String(contentsOf: url(of: name), encoding: .utf8).components(separatedBy: "\n## `")
            let sections = parts.dropFirst().map { part in
                let code = part.prefix { $0 != "`" }
                return Section(code: String(code), body: String(part.dropFirst(code.count + 1)) + "\n")
            }
            return Page(name: name, intro: parts[0], sections: sections)
        }
    }

    private static func severity(_ code: Diagnostic.Code) -> String { code.isWarning ? "warning" : "error" }

    /// The line below the heading of a code.
    private static func summary(_ code: Diagnostic.Code) -> String {
        "\(severity(code).capitalized): \(code.meaning.prefix(1).lowercased())\(code.meaning.dropFirst())."
    }

    /// The row of a code in the index.
    private static func row(_ code: Diagnostic.Code, of page: String) -> String {
        "| [`\(code)`](Diagnostics/\(page).md#\(code)) | \(severity(code)) | \(code.meaning) |"
    }

    /// The examples that no text on a page can show.
    private static let generated: [Diagnostic.Code: @Sendable () -> [Diagnostic]] = [
        .unreadable: {
            ConfigurationCompiler.compile(paths: ["/etc/mediatord/lamp.yaml.missing"], standardInput: { [] })
                .diagnostics
        },
        .tooManyDiagnostics: {
            let keys = (0..<1_001).map { "key\($0): 1\n" }.joined()
            return compiled(Array("system: lamp\nstates: { Off: {} }\ninitialState: Off\n\(keys)".utf8))
        },
        .unusedDropIn: {
            let folder = FileManager.default.temporaryDirectory.appending(path: "drop-in-\(UUID().uuidString)")
            let dropIns = folder.appending(path: "lmap.yaml.d")
            defer { try? FileManager.default.removeItem(at: folder) }
            try? FileManager.default.createDirectory(at: dropIns, withIntermediateDirectories: true)
            try? Data("system: lamp\ndescription: a lamp\n".utf8).write(to: dropIns.appending(path: "10-own.yaml"))
            return ConfigurationCompiler.compile(directory: folder.path).diagnostics.map { found in
                let place = found.location.map {
                    SourceLocation(
                        file: $0.file.replacingOccurrences(of: folder.path, with: "/etc/mediatord"), line: $0.line,
                        column: $0.column)
                }
                return Diagnostic(
                    severity: found.severity, code: found.code, location: place,
                    message: found.message.replacingOccurrences(of: folder.path, with: "/etc/mediatord"),
                    hint: found.hint)
            }
        },
        .noFiles: {
            let folder = FileManager.default.temporaryDirectory.appending(path: "empty-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return ConfigurationCompiler.compile(directory: folder.path).diagnostics.map { found in
                Diagnostic(
                    severity: found.severity, code: found.code,
                    message: found.message.replacingOccurrences(of: folder.path, with: "/etc/mediatord"))
            }
        },
        .nothingToRemove: {
            var file = ConfigurationFile(
                path: "lamp.yaml", text: "system: lamp\nstates: { Off: {} }\ninitialState: Off\n")
            file.dropIns = [ConfigurationFile(path: "lamp.yaml.d/10-own.yaml", text: "system: lamp\nready: null\n")]
            return ConfigurationCompiler.compile(files: [file]).diagnostics
        },
        .unknownAccount: {
            let file = ConfigurationFile(path: "lamp.yaml", text: "access: { read: { groups: [amd] } }\n")
            let grants = ConfigurationCompiler.compile(files: [file]).graph?.access.grants ?? []
            return grants.flatMap { $0.users + $0.groups }.map(\.unknown)
        },
        .encoding: { compiled(Array("system: caf".utf8) + [0xE9, 0x0A]) },
    ]

    private static func compiled(_ bytes: [UInt8]) -> [Diagnostic] {
        ConfigurationCompiler.compile(files: [ConfigurationFile(path: "lamp.yaml", contents: bytes)]).diagnostics
    }

    private static func printed(_ section: Section) -> String {
        if let example = section.block("yaml") {
            return Snapshots.printed([ConfigurationFile(path: "lamp.yaml", text: example)])
        }
        let code = Diagnostic.Code(rawValue: section.code)
        let found = generated[code]?().filter { $0.code == code } ?? []
        return found.map { $0.rendered() + "\n" }.joined()
    }

    @Test func `have every code, in the order of the list, with its meaning`() throws {
        var pages = try Self.pages()
        #expect(pages.flatMap(\.sections).map(\.code) == Diagnostic.Code.all.map(\.rawValue))
        for page in pages.indices {
            for section in pages[page].sections.indices {
                let code = Diagnostic.Code(rawValue: pages[page].sections[section].code)
                #expect(code.meaning != code.rawValue)
                let body = pages[page].sections[section].body
                var lines = body.split(separator: "\n", omittingEmptySubsequences: false)
                let summary = try #require(lines.firstIndex { !$0.isEmpty })
                if Snapshots.isRewriting {
                    lines[summary] = Self.summary(code)[...]
                    pages[page].sections[section].body = lines.joined(separator: "\n")
                } else {
                    #expect(lines[summary] == Self.summary(code))
                }
            }
        }
        if Snapshots.isRewriting { try Self.write(pages) }
    }

    @Test func `are reached from the index by each code`() throws {
        var lines = try String(contentsOf: Self.index, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var rows: [String] = []
        for page in try Self.pages() {
            for code in page.sections.map({ Diagnostic.Code(rawValue: $0.code) }) {
                rows.append(Self.row(code, of: page.name))
                guard Snapshots.isRewriting else { continue }
                let old = try #require(lines.firstIndex { $0.hasPrefix("| [`\(code)`]") }, "add a row for \(code)")
                lines[old] = Self.row(code, of: page.name)
            }
        }
        if Snapshots.isRewriting {
            try lines.joined(separator: "\n").write(to: Self.index, atomically: true, encoding: .utf8)
        }
        #expect(lines.filter { $0.hasPrefix("| [`") } == rows)
    }

    @Test func `show exactly what each example gives`() throws {
        var pages = try Self.pages()
        for page in pages.indices {
            for index in pages[page].sections.indices {
                let section = pages[page].sections[index]
                let printed = Self.printed(section)
                #expect(printed.contains(" [\(section.code)]"), "\(section.code): \(printed)")
                let codes = printed.matches(of: /(?m)^\S.* (error|warning): .* \[([a-z-]+)\]$/).map { String($0.2) }
                #expect(codes.count <= 1, "\(section.code): more than one diagnostic\n\(printed)")
                #expect(printed.contains("\(Self.severity(Diagnostic.Code(rawValue: section.code))): "))
                if Snapshots.isRewriting {
                    let shown = section.behindExample
                    let start = try #require(shown.range(of: "```\n")).upperBound
                    let end = try #require(shown.range(of: "\n```\n", range: start..<shown.endIndex)).lowerBound
                    pages[page].sections[index].body
                        .replaceSubrange(start..<section.body.index(after: end), with: printed)
                } else {
                    #expect(
                        Section(code: "", body: String(section.behindExample)).block("") == printed, "\(section.code)")
                }
            }
        }
        if Snapshots.isRewriting { try Self.write(pages) }
    }

    private static func write(_ pages: [Page]) throws {
        for page in pages {
            let text = page.sections.map { "\n## `\($0.code)`\($0.body.dropLast())" }
            try (page.intro + text.joined()).write(to: url(of: page.name), atomically: true, encoding: .utf8)
        }
    }
}
