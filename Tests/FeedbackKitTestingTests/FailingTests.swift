import FeedbackKit
import FeedbackKitTesting
import Foundation
import Testing
import XCTest

/// Set in the process that ``Reports to the test runner`` starts. The tests of this file run, and fail, only there.
let failingTestsVariable = "FEEDBACKKIT_RUN_FAILING_TESTS"

private var runsFailingTests: Bool { ProcessInfo.processInfo.environment[failingTestsVariable] != nil }

private struct Idle: FeedbackKit.State, Equatable {}
private struct Busy: FeedbackKit.State, Equatable {}
private struct Begin: FeedbackKit.Event {}

private let transitions = Transitions {
    From(Idle.self) { On(Begin.self, transitionTo: Busy()) }
}

/// The line of the assertion that fails in tests of Swift Testing.
let lineInSwiftTesting: UInt = #line + 4

@Suite(.enabled(if: runsFailingTests)) struct `Failing tests` {
    @Test func `in Swift Testing`() {
        transitions.assertThat(from: Idle(), on: Begin(), newStateIs: Idle())
    }

    @Test func `on a thread that belongs to no test`() async {
        await Task.detached { transitions.assertThatStateIsUnchanged(from: Idle(), on: Begin()) }.value
    }

    @Test func `with the digest of a run`() {
        Issue.record("digest \(busyRun(seed: 7).digest)")
    }

    @Test func `among seeds`() {
        Simulation.explore(seeds: 0..<5) { #expect($0.seed < 3) }
    }
}

/// The line of the assertion that fails in tests of XCTest.
let lineInXCTest: UInt = #line + 8

final class FailingXCTests: XCTestCase {
    override func setUpWithError() throws {
        try XCTSkipUnless(runsFailingTests, "fails on purpose; run by another test in a process of its own")
    }

    func testFails() {
        transitions.assertThat(from: Idle(), on: Begin(), newStateIs: Idle())
    }

    func testFailsAsync() async throws {
        let store = TestStore<Int, Int>(initial: 0) { _, _ in .unhandled }
        store.start()
        await store.receive(7, within: .zero) { $0 = 7 }
        store.finish()
    }

    func testFailsAmongSeeds() {
        Simulation.explore(seeds: 0..<5) { XCTAssertLessThan($0.seed, 3) }
    }
}

final class PassingXCTests: XCTestCase {
    func testAssertionsHoldInXCTestToo() async {
        transitions.assertThat(from: Idle(), on: Begin(), newStateIs: Busy())
        let store = TestStore<Int, Int>(initial: 0) { state, event in
            state += event
            return .handled
        }
        store.start()
        store.send(3) { $0 = 3 }
        XCTAssertEqual(store.state, 3)
        store.finish()
        let messages = failures { store.finish() }
        XCTAssertEqual(messages, ["finish() after the end: the loop has been stopped"])
    }
}
