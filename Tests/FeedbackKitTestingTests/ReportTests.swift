import FeedbackKitTesting
import Foundation
import Testing

/// Runs tests of this binary in a separate process, including those that fail on purpose.
private func runFailingTests(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging([failingTestsVariable: "1"]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

@Suite struct `Reports to the test runner` {
    @Test func `reach Swift Testing at the caller's line`() throws {
        let (status, output) = try runFailingTests(["--testing-library", "swift-testing", "--filter", "Failing tests"])
        #expect(status != 0)
        #expect(
            output.contains("\"in Swift Testing\" recorded an issue at FailingTests.swift:\(lineInSwiftTesting):"),
            "\(output)")
        #expect(output.contains("from Idle(), Begin() leads to a state of another type: expected Idle(), got Busy()"))
        #expect(output.contains("from Idle(), Begin() leads to a new state, expected none"), "none is lost")
        #expect(output.contains("seed 3 fails, after 3 that do not: Expectation failed"))
        #expect(
            output.contains("digest \(busyRun(seed: 7).digest)"), "another process runs the same, with other hash seeds"
        )
    }

    @Test func `reach XCTest at the caller's line`() throws {
        let (status, output) = try runFailingTests(["FeedbackKitTestingTests.FailingXCTests"])
        #expect(status != 0)
        #expect(
            output.contains(
                "FailingTests.swift:\(lineInXCTest): error: FailingXCTests.testFails : failed - from Idle(), Begin() "
                    + "leads to a state of another type: expected Idle(), got Busy()"), "\(output)")
        #expect(output.contains("FailingXCTests.testFailsAsync : failed - expected to receive 7, but no event arrived"))
        #expect(
            output.contains(
                "FailingXCTests.testFailsAmongSeeds : failed - seed 3 fails, after 3 that do not: an assertion of "
                    + "XCTest does not hold\nrun it again with Simulation(seed: 3), or with explore(seeds: 3..<4)"))
        #expect(output.contains("Executed 3 tests"))
    }

    @Test func `reach Swift Testing as issues with a place`() {
        withKnownIssue {
            FailureReport.report("a message", at: SourcePlace("Module/File.swift", "/a/File.swift", 12, 34))
        } matching: { issue in
            issue.comments.map(\.rawValue) == ["a message"] && issue.sourceLocation?.fileID == "Module/File.swift"
                && issue.sourceLocation?.line == 12 && issue.sourceLocation?.column == 34
        }
    }

    @Test func `are bounded`() {
        let collector = FailureCollector()
        FailureReport.$collector.withValue(collector) {
            for _ in 0..<FailureCollector.maximumFailures + 1 {
                FailureReport.report(
                    String(repeating: "x", count: FailureReport.maximumCharacters + 1),
                    at: SourcePlace(#fileID, #filePath, #line, #column))
            }
        }
        #expect(collector.failures.count == FailureCollector.maximumFailures)
        #expect(collector.count == FailureCollector.maximumFailures + 1)
        #expect(collector.failures.first?.message.count == FailureReport.maximumCharacters + 1)
        #expect(collector.failures.first?.message.last == "…")
    }
}
