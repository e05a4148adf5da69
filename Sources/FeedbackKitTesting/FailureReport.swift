#if canImport(Testing)
import Testing
#endif

/// Where in the source of a test something was expected; the defaults of a call's last four parameters.
package struct SourcePlace: Sendable {
    /// Module and file, as `#fileID` writes it.
    package let fileID: StaticString
    /// The file, as `#filePath` writes it.
    package let filePath: StaticString
    /// Counts from 1.
    package let line: UInt
    /// Counts from 1.
    package let column: UInt

    /// A place.
    package init(_ fileID: StaticString, _ filePath: StaticString, _ line: UInt, _ column: UInt) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
    }
}

/// An expectation that did not hold.
package struct TestFailure: Sendable {
    /// What did not hold, and what to do about it.
    package let message: String
    /// Where it was expected.
    package let place: SourcePlace
}

/// Takes failures in, instead of the test runner.
package final class FailureCollector: Sendable {
    /// How many failures are kept; those that follow are only counted.
    package static let maximumFailures = 1_000

    private let storage = SharedValue<(kept: [TestFailure], count: Int)>(([], 0))

    /// A collector that has seen none.
    package init() {}

    /// The failures, in order; at most ``maximumFailures``.
    package var failures: [TestFailure] { storage.value.kept }

    /// How many there were.
    package var count: Int { storage.value.count }

    /// One more.
    package func add(_ failure: TestFailure) {
        storage.with { storage in
            storage.count += 1
            if storage.kept.count < Self.maximumFailures { storage.kept.append(failure) }
        }
    }
}

/// Tells the test runner that an expectation did not hold, at the line of the caller.
///
/// In a test of Swift Testing it records an issue, in a test of XCTest a failure. Which of the two runs is asked at
/// that moment, so one test target may hold both kinds. Where neither says that it runs a test (on a thread that
/// belongs to no task of a test), the issue is recorded without a test, which still fails the run: no failure is lost.
///
/// Both frameworks are imported and linked where the toolchain has them for the build at hand; no symbol is looked up
/// by name while running. Only products that depend on this module link them, so a program is never burdened. A
/// build with a static standard library has neither: there a failure stops the process with its message.
package enum FailureReport {
    /// The longest message, in characters; the rest is cut off.
    package static let maximumCharacters = 32_768

    /// Who takes failures in instead of the test runner.
    @TaskLocal package static var collector: FailureCollector?

    /// Reports a failure at a place.
    package static func report(_ message: String, at place: SourcePlace) {
        let message = message.count > maximumCharacters ? message.prefix(maximumCharacters) + "…" : message
        if let collector { return collector.add(TestFailure(message: message, place: place)) }
        #if canImport(Testing)
        if Test.current != nil { return record(message, at: place) }
        #endif
        #if canImport(XCTest)
        if XCTestReport.fail(message, at: place) { return }
        #endif
        #if canImport(Testing)
        record(message, at: place)
        #else
        // There is no test runner to tell.
        fatalError(message, file: place.filePath, line: place.line)
        #endif
    }

    #if canImport(Testing)
    /// Records an issue of Swift Testing.
    private static func record(_ message: String, at place: SourcePlace) {
        Issue.record(
            Comment(rawValue: message),
            sourceLocation: SourceLocation(
                fileID: "\(place.fileID)", filePath: "\(place.filePath)", line: Int(clamping: place.line),
                column: Int(clamping: place.column)))
    }
    #endif
}
