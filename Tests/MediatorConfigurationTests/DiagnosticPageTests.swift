import Foundation
import MediatorConfiguration
import Testing

/// The page about diagnostics, the list of codes and what is really printed, held together.
@Suite struct `The page about diagnostics` {
    private static let page = Snapshots.repository.appending(path: "Documentation/Reference/Diagnostics.md")

    /// A part of the page: a heading `code`, its text, an example and what it gives.
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

        /// The text without its example, or the whole of it where there is none.
        var behindExample: Substring {
            guard let start = body.range(of: "```yaml\n"),
                let end = body.range(of: "\n```\n", range: start.upperBound..<body.endIndex)
            else { return body[...] }
            return body[end.upperBound...]
        }
    }

    private static func sections() throws -> (intro: String, sections: [Section]) {
        let text = try String(contentsOf: page, encoding: .utf8)
        let parts = text.components(separatedBy: "\n## `")
        let sections = parts.dropFirst().map { part in
            let code = part.prefix { $0 != "`" }
            return Section(code: String(code), body: String(part.dropFirst(code.count + 1)) + "\n")
        }
        return (parts[0], sections)
    }

    /// The examples that no text on a page can show.
    private static let generated: [Diagnostic.Code: @Sendable () -> [Diagnostic]] = [
        .unreadable: {
            ConfigurationCompiler.compile(paths: ["/etc/mediatord/lamp.yaml.missing"], standardInput: { [] })
                .diagnostics
        },
        .tooManyFindings: {
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

    @Test func `has every code, in the order of the list, with its meaning`() throws {
        let (_, sections) = try Self.sections()
        #expect(sections.map(\.code) == Diagnostic.Code.all.map(\.rawValue))
        for section in sections {
            let code = Diagnostic.Code(rawValue: section.code)
            #expect(code.meaning != code.rawValue)
            let text = section.body.split(separator: "\n").first ?? ""
            #expect(text.lowercased() == "\(code.isWarning ? "warning" : "error"): \(code.meaning.lowercased()).")
        }
    }

    @Test func `shows exactly what each example gives`() throws {
        var (intro, sections) = try Self.sections()
        for index in sections.indices {
            let section = sections[index]
            let printed = Self.printed(section)
            #expect(printed.contains(" [\(section.code)]"), "\(section.code): \(printed)")
            let codes = printed.matches(of: /(?m)^\S.* (error|warning): .* \[([a-z-]+)\]$/).map { String($0.2) }
            #expect(codes.count <= 1, "\(section.code): more than one finding\n\(printed)")
            let severity = Diagnostic.Code(rawValue: section.code).isWarning ? "warning: " : "error: "
            #expect(printed.contains(severity))
            if Snapshots.isRewriting {
                let shown = section.behindExample
                let start = try #require(shown.range(of: "```\n")).upperBound
                let end = try #require(shown.range(of: "\n```\n", range: start..<shown.endIndex)).lowerBound
                sections[index].body.replaceSubrange(start..<sections[index].body.index(after: end), with: printed)
            } else {
                #expect(Section(code: "", body: String(section.behindExample)).block("") == printed, "\(section.code)")
            }
        }
        if Snapshots.isRewriting {
            let text = sections.map { "\n## `\($0.code)`\($0.body.dropLast())" }
            try (intro + text.joined()).write(to: Self.page, atomically: true, encoding: .utf8)
        }
    }
}
