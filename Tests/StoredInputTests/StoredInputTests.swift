import Foundation
import Testing

/// The inputs that are stored for the fuzzers, without their search for new ones.
///
/// An input that a fuzzer finds belongs in its folder `seeds` as soon as the defect is mended: as `.input`, for Varlink as
/// `.frames`, `.json` or `.varlink`. The requirements are in the subjects, which the fuzzers share. Each is a precondition, so a
/// violation ends the process. Each file is an argument, so the log names it.
@Suite struct `The stored inputs of the fuzzers` {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// The files below a folder whose names end so.
    private static func files(_ folder: String, _ endings: String...) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: tests.appending(path: folder).path)
        return (names ?? []).filter { name in endings.contains { name.hasSuffix(".\($0)") } }.sorted()
            .map { "\(folder)/\($0)" }
    }

    private static func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: tests.appending(path: file)))
    }

    @Test func `have endings that tell which fuzzer they are for`() throws {
        for (folder, endings) in [
            ("CommonExpression", ["txt", "input"]), ("Configuration", ["yaml", "input"]),
            ("Varlink", ["frames", "json", "varlink"]),
        ] {
            let names = try FileManager.default.contentsOfDirectory(
                atPath: Self.tests.appending(path: "Fuzz/\(folder)/seeds").path)
            #expect(!names.isEmpty && names.allSatisfy { endings.contains(($0 as NSString).pathExtension) }, "\(names)")
        }
    }

    /// Each line of a file of texts is an input, and so is each part of it with which it begins.
    @Test(arguments: files("Fuzz/CommonExpression/seeds", "txt"))
    func `are understood or refused as expressions, line by line`(file: String) throws {
        let lines = String(decoding: try Self.bytes(file), as: UTF8.self).split(separator: "\n")
        #expect(lines.count > 20)
        for line in lines {
            ExpressionSubject.exercise(String(line))
            for length in stride(from: 1, to: line.count, by: 3) {
                ExpressionSubject.exercise(String(line.prefix(length)))
            }
        }
    }

    @Test(arguments: files("Fuzz/CommonExpression/seeds", "input"))
    func `are understood or refused as expressions`(file: String) throws {
        ExpressionSubject.exercise(String(decoding: try Self.bytes(file), as: UTF8.self))
    }

    @Test(
        arguments: files("../Config", "yaml") + files("Corpus", "yaml")
            + files("Fuzz/Configuration/seeds", "yaml", "input"))
    func `compile or are refused as configurations`(file: String) throws {
        let bytes = try Self.bytes(file)
        // The fuzzer makes no longer ones.
        guard bytes.count < 8 << 10 else { return }
        ConfigurationSubject.exercise(bytes)
        ConfigurationSubject.exercise(bytes.dropLast(bytes.count / 3))
    }

    @Test(arguments: files("Fuzz/Varlink/seeds", "json"))
    func `are the same as JSON and in messages, however they are cut`(file: String) throws {
        let bytes = try Self.bytes(file)
        JSONSubject.exercise(bytes)
        for length in bytes.indices { JSONSubject.exercise(Array(bytes.prefix(length))) }
        for limit in [UInt8.max, UInt8(clamping: bytes.count / 2)] {
            for cut in UInt8.min...UInt8.max { FrameSubject.exercise([limit, cut] + bytes + [0] + bytes + [0]) }
        }
    }

    @Test(arguments: files("Fuzz/Varlink/seeds", "frames"))
    func `are the same in messages`(file: String) throws { FrameSubject.exercise(try Self.bytes(file)) }

    @Test(arguments: files("Fuzz/Varlink/seeds", "varlink"))
    func `are the same as definitions of interfaces`(file: String) throws {
        let bytes = try Self.bytes(file)
        for length in 0...bytes.count { DefinitionSubject.exercise(Array(bytes.prefix(length))) }
    }
}
