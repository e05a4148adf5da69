import CommonExpression
import Foundation
import Testing

/// The conformance suite of the specification, one case per line of JSON.
private enum ConformanceSuite {
    static let path =
        ProcessInfo.processInfo.environment["CEL_CONFORMANCE"]
        ?? URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "../shared/cel-spec/conformance.jsonl").standardizedFileURL.path

    /// The cases of the network extension, beside the others.
    static let networkPath = URL(filePath: path).deletingLastPathComponent().appending(path: "network.jsonl").path

    static var isPresent: Bool { FileManager.default.isReadableFile(atPath: path) }

    /// A Boolean value that indicates whether the test runs. In continuous integration it runs and fails without the
    /// cases.
    static var isWanted: Bool { isPresent || ProcessInfo.processInfo.environment["CI"] == "true" }
}

@Suite("Conformance")
struct ConformanceTests {
    /// The number of cases of each file that must pass.
    ///
    /// In the file `parse`, both cases `bytes_literals/triple_…_quoted_unescaped_punctuation` fail. They expect a
    /// backslash that their source does not have, unlike the same cases of `string_literals`. In the file
    /// `type_deduction`, four cases fail. Their functions have type parameters and the host type `tuple`, which cannot
    /// be declared.
    static let floors = [
        "basic": 35, "bindings_ext": 3, "comparisons": 244, "conversions": 82, "encoders_ext": 3, "fields": 42,
        "fp_math": 22, "integer_math": 49, "lists": 28, "logic": 25, "macros": 32, "macros2": 40, "math_ext": 154,
        "namespace": 2, "optionals": 44, "parse": 138, "plumbing": 4, "string": 40, "string_ext": 160,
        "timestamps": 53, "type_deduction": 15,
    ]

    @Test(
        .enabled(
            if: ConformanceSuite.isWanted,
            "SKIPPED: the conformance cases are not at \(ConformanceSuite.path); set CEL_CONFORMANCE to where they are")
    )
    func `no conformance case that passed before fails`() throws {
        try #require(
            ConformanceSuite.isPresent,
            "the conformance cases are not at \(ConformanceSuite.path); set CEL_CONFORMANCE to where they are")
        var passed: [String: Int] = [:]
        var failed: [String: [String]] = [:]
        var outOfScope: [String: [String: Int]] = [:]
        var files: Set<String> = []
        for line in try String(contentsOfFile: ConformanceSuite.path, encoding: .utf8).split(separator: "\n") {
            let test = try #require(try ConformanceCase(line: String(line)))
            files.insert(test.file)
            switch test.run() {
            case .passed: passed[test.file, default: 0] += 1
            case .failed(let reason):
                failed[test.file, default: []].append("\(test.name): \(test.source): \(reason)")
            case .outOfScope(let reason): outOfScope[test.file, default: [:]][reason, default: 0] += 1
            }
        }
        for file in files.sorted() {
            let reasons = outOfScope[file, default: [:]].sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            let tail = reasons.isEmpty ? "" : ", out of scope: \(reasons.joined(separator: ", "))"
            print("\(file): \(passed[file, default: 0]) passed, \(failed[file, default: []].count) failed\(tail)")
            for failure in failed[file, default: []] { print("    \(failure)") }
        }
        let total = passed.values.reduce(0, +)
        let cases =
            total + failed.values.reduce(0) { $0 + $1.count }
            + outOfScope.values.reduce(0) { $0 + $1.values.reduce(0, +) }
        print("\(total) of \(cases) conformance cases pass")
        #expect(total * 100 >= cases * 98)
        for (file, floor) in Self.floors {
            #expect(passed[file, default: 0] >= floor, "\(file)")
        }
    }

    @Test(
        .enabled(
            if: ConformanceSuite.isWanted,
            "SKIPPED: the conformance cases are not at \(ConformanceSuite.path); set CEL_CONFORMANCE to where they are")
    )
    func `all cases of the network extension pass`() throws {
        let lines = try String(contentsOfFile: ConformanceSuite.networkPath, encoding: .utf8).split(separator: "\n")
        #expect(lines.count >= 50)
        for line in lines {
            let test = try #require(try ConformanceCase(line: String(line)))
            guard case .passed = test.run() else {
                Issue.record("\(test.name): \(test.source): \(test.run())")
                continue
            }
        }
    }
}
