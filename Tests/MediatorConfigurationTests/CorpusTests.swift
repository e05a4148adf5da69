import Foundation
import MediatorConfiguration
import Testing

/// Broken configurations, each with its exact diagnostics: `Tests/Corpus/NAME.yaml`, or a directory `NAME` of several
/// files, and `NAME.txt`.
///
/// After an intended change of messages, `MEDIATORD_REWRITE_SNAPSHOTS=1 swift test --filter corpus` rewrites them. Read
/// the difference before you commit it.
@Suite struct `The corpus of broken configurations` {
    private static let directory = Snapshots.repository.appending(path: "Tests/Corpus")

    private static func entries(_ directory: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    private static func file(_ url: URL) throws -> ConfigurationFile {
        ConfigurationFile(path: url.lastPathComponent, contents: Array(try Data(contentsOf: url)))
    }

    /// The names, and what each holds.
    private static func cases() throws -> [(name: String, files: [ConfigurationFile])] {
        try entries(directory).compactMap { url in
            switch url.pathExtension {
            case "yaml": (url.deletingPathExtension().lastPathComponent, [try file(url)])
            case "": (url.lastPathComponent, try entries(url).map(file))
            default: nil
            }
        }
    }

    @Test func `gives exactly what is expected`() throws {
        let cases = try Self.cases()
        #expect(cases.count >= 150)
        for (name, files) in cases {
            let expected = Self.directory.appending(path: "\(name).txt")
            let printed = Snapshots.printed(files)
            #expect(!printed.isEmpty, "\(name): nothing is wrong with it")
            if Snapshots.isRewriting {
                try printed.write(to: expected, atomically: true, encoding: .utf8)
            } else {
                let text = try String(contentsOf: expected, encoding: .utf8)
                #expect(printed == text, "\(name)")
            }
        }
    }

    @Test func `has an expectation for every configuration, and no other`() throws {
        let names = try Self.cases().map(\.name)
        let texts = try Self.entries(Self.directory).filter { $0.pathExtension == "txt" }
        #expect(texts.map { $0.deletingPathExtension().lastPathComponent }.sorted() == names.sorted())
    }

    @Test func `says one thing of one mistake`() throws {
        for (name, files) in try Self.cases() where !Self.several.contains(name) {
            #expect(Snapshots.found(files).count == 1, "\(name)")
        }
    }

    /// All of them as one configuration, which also has systems of one name in several files, and a sound one.
    @Test func `is told alike by one thread and by several`() throws {
        let joined = try Self.cases().flatMap { name, files in
            files.map { ConfigurationFile(path: "\(name)/\($0.path)", contents: $0.contents) }
        }
        let shipped = try Self.entries(Snapshots.repository.appending(path: "Config")).filter {
            $0.pathExtension == "yaml"
        }
        for files in [joined, try shipped.map(Self.file)] {
            func compiled(_ threads: Int?) -> CompilationResult {
                ConfigurationCompiler.compile(
                    files: files, effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil,
                    threads: threads)
            }
            let one = compiled(1)
            for threads in [2, 3, 7, 64, nil] {
                let several = compiled(threads)
                #expect(several.diagnostics == one.diagnostics)
                #expect(several.graph?.systems.map(\.fingerprint) == one.graph?.systems.map(\.fingerprint))
                #expect(several.graph?.links.map(\.fingerprint) == one.graph?.links.map(\.fingerprint))
            }
        }
    }

    /// Those with several mistakes.
    private static let several: Set<String> = [
        "document-separator-missing", "expression-constant-beside-a-name", "expression-constants-that-fail",
        "feedback-http-get", "feedbacks-list-with-names", "files-broken-hides-names", "files-doubled-for-instances",
        "files-doubled-with-mistakes",
        "files-duplicate-hides-what-follows", "files-duplicate-names", "files-one-encoding", "files-sorted",
        "keys-of-other-programs", "kind-with-states", "link-doubled-among-others", "several-documents",
        "slip-colon-missing-in-braces",
        "slip-colon-missing-twice",
        "slip-event-outdented", "slip-link-name-indented", "slip-states-of-nothing-beside-a-note",
        "several-errors-of-the-whole",
        "several-everywhere", "several-in-a-system", "several-on-one-line", "several-typographic",
        "several-warnings-beside-a-wrong-name",
        "several-warnings-beside-errors", "shell-quote-without-opening",
        "system-mailbox-words", "transition-keys-beside-event",
        "transition-keys-of-another-kind", "transition-set-two-mistakes", "transitions-too-deep",
        "whole-buses-of-no-use", "whole-loop-beside-an-error", "whole-loop-limited-in-one-place",
        "whole-loop-of-a-name-with-a-tab", "whole-two-loops", "whole-unreachable-chain", "whole-unreachable-states",
        "yaml-deep-beside-others", "yaml-directive-unknown", "yaml-directive-version", "yaml-duplicate-three-times",
        "yaml-first-document-broken", "yaml-second-document-broken", "yaml-tab-behind-the-dashes",
        "yaml-tag-misspelt",
    ]
}
