#if canImport(XCTest)
import Synchronization
import XCTest

/// The reporter of failures to XCTest.
enum XCTestReport {
    /// An observer of recorded failures. It detects whether an XCTest test runs, because XCTest itself does not report
    /// that.
    private final class FailureObserver: NSObject, XCTestObservation {
        let count = Atomic<Int>(0)

        func testCase(
            _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?,
            atLine lineNumber: Int
        ) {
            count.add(1, ordering: .relaxed)
        }
    }

    /// Counts the failures that XCTest records while `body` runs.
    static func countFailures(_ body: () -> Void) -> Int {
        let witness = FailureObserver()
        XCTestObservationCenter.shared.addTestObserver(witness)
        defer { XCTestObservationCenter.shared.removeTestObserver(witness) }
        body()
        return witness.count.load(ordering: .relaxed)
    }

    /// Counts the failures that XCTest records while `body` runs.
    nonisolated(nonsending) static func countFailures(_ body: nonisolated(nonsending) () async -> Void) async -> Int {
        let witness = FailureObserver()
        XCTestObservationCenter.shared.addTestObserver(witness)
        defer { XCTestObservationCenter.shared.removeTestObserver(witness) }
        await body()
        return witness.count.load(ordering: .relaxed)
    }

    /// Records a failure. Returns `false`, and records nothing, if no XCTest test runs.
    static func fail(_ message: String, at place: SourcePlace) -> Bool {
        countFailures { XCTFail(message, file: place.filePath, line: place.line) } > 0
    }
}
#endif
