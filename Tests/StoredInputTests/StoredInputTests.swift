import Foundation
import Testing

/// The inputs that are stored for the fuzzers, without their search for new ones.
///
/// An input that a fuzzer finds belongs in its folder `seeds` as soon as the defect is mended. What an input must fulfil is in
/// the subjects, which the fuzzers share: each is a precondition, so a violation ends the process, and the log names it.
@Suite struct `The stored inputs of the fuzzers` {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// The files below a folder of the repository whose names end so; there is at least one.
    private static func files(below folder: String, _ endings: String...) throws -> [URL] {
        let found = try FileManager.default
            .contentsOfDirectory(at: tests.appending(path: folder), includingPropertiesForKeys: nil)
            .filter { endings.contains($0.pathExtension) }
        try #require(!found.isEmpty)
        return found.sorted { $0.path < $1.path }
    }

    /// Each line of a file of texts is an input, and so is a whole file of any other kind.
    @Test func `are understood or refused as expressions`() throws {
        for file in try Self.files(below: "Fuzz/CommonExpression/seeds", "txt", "input") {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard file.pathExtension == "txt" else {
                ExpressionSubject.exercise(text)
                continue
            }
            let lines = text.split(separator: "\n")
            #expect(lines.count > 20)
            for line in lines {
                ExpressionSubject.exercise(String(line))
                // Parts of it, as a fuzzer would cut it.
                for length in stride(from: 1, to: line.count, by: 3) {
                    ExpressionSubject.exercise(String(line.prefix(length)))
                }
            }
        }
    }

    @Test(arguments: ["../Config", "Corpus", "Fuzz/Configuration/seeds"])
    func `compile or are refused as configurations`(folder: String) throws {
        for file in try Self.files(below: folder, "yaml", "input") {
            let bytes = [UInt8](try Data(contentsOf: file))
            // The fuzzer makes no longer ones.
            guard bytes.count < 8 << 10 else { continue }
            ConfigurationSubject.exercise(bytes)
            ConfigurationSubject.exercise(bytes.dropLast(bytes.count / 3))
        }
    }

    @Test func `are the same as JSON and in messages, however they are cut`() throws {
        for file in try Self.files(below: "Fuzz/Varlink/seeds", "json") {
            let bytes = [UInt8](try Data(contentsOf: file))
            JSONSubject.exercise(bytes)
            for length in bytes.indices { JSONSubject.exercise(Array(bytes.prefix(length))) }
            for limit in [UInt8.max, UInt8(clamping: bytes.count / 2)] {
                for cut in UInt8.min...UInt8.max { FrameSubject.exercise([limit, cut] + bytes + [0] + bytes + [0]) }
            }
        }
    }

    @Test func `are the same as definitions of interfaces`() throws {
        for file in try Self.files(below: "Fuzz/Varlink/seeds", "varlink") {
            let bytes = [UInt8](try Data(contentsOf: file))
            for length in 0...bytes.count { DefinitionSubject.exercise(Array(bytes.prefix(length))) }
        }
    }
}
