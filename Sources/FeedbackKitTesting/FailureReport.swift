#if canImport(Testing)
import Testing
#endif

/// The source position of an expectation, from the defaults of a call's last four parameters.
package struct SourcePlace: Sendable {
    /// The module and file, in the form of `#fileID`.
    package let fileID: StaticString
    /// The file, in the form of `#filePath`.
    package let filePath: StaticString
    /// The line, counted from 1.
    package let line: UInt
    /// The column, counted from 1.
    package let column: UInt

    /// Creates a source position.
    package init(_ fileID: StaticString, _ filePath: StaticString, _ line: UInt, _ column: UInt) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
    }
}

/// An expectation that did not hold.
package struct TestFailure: Sendable {
    /// The failed expectation and the remedy.
    package let message: String
    /// The position of the expectation.
    package let place: SourcePlace
}

/// A receiver of failures in place of the test runner.
package final class FailureCollector: Sendable {
    /// The maximum number of failures that are kept; later failures are only counted.
    package static let maximumFailures = 1_000

    private let storage = SharedValue<(kept: [TestFailure], count: Int)>(([], 0))

    /// Creates an empty collector.
    package init() {}

    /// The failures, in order; at most ``maximumFailures``.
    package var failures: [TestFailure] { storage.value.kept }

    /// The number of failures, including those not kept.
    package var count: Int { storage.value.count }

    /// Adds a failure.
    package func add(_ failure: TestFailure) {
        storage.with { storage in
            storage.count += 1
            if storage.kept.count < Self.maximumFailures { storage.kept.append(failure) }
        }
    }
}

/// The reporter of failed expectations to the test runner, at the line of the caller.
///
/// In a Swift Testing test it records an issue; in an XCTest test, a failure. It detects the runner at the time of the
/// failure, so one test target may contain both kinds. On a thread that belongs to no test's task, neither runner is
/// detected. The issue is then recorded without a test and still fails the run, so no failure is lost.
///
/// Both frameworks are imported and linked if the toolchain has them for this build; no symbol is looked up by name at
/// run time. Only products that depend on this module link them, so programs carry no extra code. A build with a static
/// standard library has neither framework. There, a failure stops the process with its message.
package enum FailureReport {
    /// The maximum length of a message in characters; the rest is cut off.
    package static let maximumCharacters = 32_768

    /// The receiver of failures in place of the test runner.
    @TaskLocal package static var collector: FailureCollector?

    /// Reports a failure at a source position.
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
        // This build has no test runner to report to.
        fatalError(message, file: place.filePath, line: place.line)
        #endif
    }

    #if canImport(Testing)
    /// Records an issue in Swift Testing.
    private static func record(_ message: String, at place: SourcePlace) {
        Issue.record(
            Comment(rawValue: message),
            sourceLocation: SourceLocation(
                fileID: "\(place.fileID)", filePath: "\(place.filePath)", line: Int(clamping: place.line),
                column: Int(clamping: place.column)))
    }
    #endif
}
