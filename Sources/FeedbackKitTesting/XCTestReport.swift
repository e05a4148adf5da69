#if canImport(XCTest)
import Synchronization
import XCTest

/// Reports to XCTest.
enum XCTestReport {
    /// Sees failures as they are recorded, which tells whether a test of XCTest runs: XCTest itself does not say.
    private final class Witness: NSObject, XCTestObservation {
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
        let witness = Witness()
        XCTestObservationCenter.shared.addTestObserver(witness)
        defer { XCTestObservationCenter.shared.removeTestObserver(witness) }
        body()
        return witness.count.load(ordering: .relaxed)
    }

    /// Counts the failures that XCTest records while `body` runs.
    nonisolated(nonsending) static func countFailures(_ body: nonisolated(nonsending) () async -> Void) async -> Int {
        let witness = Witness()
        XCTestObservationCenter.shared.addTestObserver(witness)
        defer { XCTestObservationCenter.shared.removeTestObserver(witness) }
        await body()
        return witness.count.load(ordering: .relaxed)
    }

    /// Records a failure; `false` if no test of XCTest runs, and nothing was recorded.
    static func fail(_ message: String, at place: SourcePlace) -> Bool {
        countFailures { XCTFail(message, file: place.filePath, line: place.line) } > 0
    }
}
#endif
