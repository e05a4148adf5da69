#if canImport(Testing)
import Testing
#endif

extension Simulation {
    /// Runs a test once per seed, each time with a new simulation. Reports the first seed for which the test fails, and
    /// the call that repeats it. It also reports how many of the next seeds fail, and how few random choices are enough.
    ///
    ///     Simulation.explore(seeds: 0..<1000) { simulation in
    ///         let store = TestStore(initial: …, in: simulation) { … }
    ///         …
    ///     }
    ///
    /// A run fails if `body` throws, or if an expectation in it fails: of this module, of Swift Testing (`#expect`,
    /// `#require`), or of XCTest. After the first failing seed, the test runs at most 40 times more for the report. Failed
    /// Swift Testing expectations are listed as known issues; the failure itself is recorded at the caller's line.
    ///
    /// - Parameters:
    ///   - seeds: The seeds, in order.
    ///   - maximumSteps: The maximum number of steps in one call of a driving function, see ``maximumSteps``.
    /// - Returns: The failing seed, or `nil` if no seed fails.
    @discardableResult
    public static func explore(
        seeds: Range<UInt64>, maximumSteps: Int = 200_000,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ body: (Simulation) throws -> Void
    ) -> UInt64? {
        func failure(of simulation: Simulation) -> String? {
            let run = SeedRun()
            run.watch {
                do { try body(simulation) } catch { run.note(error) }
            }
            simulation.clear()
            return run.failure
        }
        for seed in seeds {
            let simulation = Simulation(seed: seed, maximumSteps: maximumSteps)
            guard let message = failure(of: simulation) else { continue }
            var failed = FailedSeed(seed, among: seeds, message: message, choices: simulation.choices)
            for other in failed.others where failure(of: Simulation(seed: other, maximumSteps: maximumSteps)) != nil {
                failed.noteOther()
            }
            while let choices = failed.nextTry {
                let fewer = Simulation(seed: seed, randomChoices: choices, maximumSteps: maximumSteps)
                failed.note(fails: failure(of: fewer) != nil)
            }
            FailureReport.report(failed.text, at: SourcePlace(fileID, filePath, line, column))
            return seed
        }
        return nil
    }

    /// Runs an async test once per seed; see the synchronous form.
    ///
    /// The test itself is not part of the simulation. Use ``perform(within:fileID:filePath:line:column:_:)`` in it to
    /// await work of the simulation.
    @discardableResult
    public nonisolated(nonsending) static func explore(
        seeds: Range<UInt64>, maximumSteps: Int = 200_000,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ body: nonisolated(nonsending) (Simulation) async throws -> Void
    ) async -> UInt64? {
        nonisolated(nonsending) func failure(of simulation: Simulation) async -> String? {
            let run = SeedRun()
            await run.watch {
                do { try await body(simulation) } catch { run.note(error) }
            }
            simulation.clear()
            return run.failure
        }
        for seed in seeds {
            let simulation = Simulation(seed: seed, maximumSteps: maximumSteps)
            guard let message = await failure(of: simulation) else { continue }
            var failed = FailedSeed(seed, among: seeds, message: message, choices: simulation.choices)
            for other in failed.others {
                if await failure(of: Simulation(seed: other, maximumSteps: maximumSteps)) != nil { failed.noteOther() }
            }
            while let choices = failed.nextTry {
                let fewer = Simulation(seed: seed, randomChoices: choices, maximumSteps: maximumSteps)
                failed.note(fails: await failure(of: fewer) != nil)
            }
            FailureReport.report(failed.text, at: SourcePlace(fileID, filePath, line, column))
            return seed
        }
        return nil
    }

    /// Ends all sleeps and runs the remaining entries, so that no task remains. Failures no longer count.
    func clear() {
        settle { self.wakeAllSleepers() }
    }

    /// Runs runnable entries up to a limit. Failures no longer count.
    func settle(_ beforeEach: () -> Void = {}) {
        FailureReport.$collector.withValue(FailureCollector()) {
            _ = drive(.now, limit: Self.stepsToSettle, SourcePlace(#fileID, #filePath, #line, #column)) {
                beforeEach()
                return false
            }
        }
    }

    /// The maximum number of steps for ending the remains of a run.
    private static let stepsToSettle = 10_000
}

/// The failures in the run of one seed.
private final class SeedRun: Sendable {
    private let collector = FailureCollector()
    /// The first failure that did not come from this module.
    private let foreign = SharedValue<String?>(nil)

    /// Records an error that `body` has thrown.
    func note(_ error: any Error) {
        noteForeign("it throws \(error)")
    }

    private func noteForeign(_ text: String) {
        foreign.with { $0 = $0 ?? text }
    }

    /// Runs the test of one seed and collects all failures.
    func watch(_ body: () -> Void) {
        FailureReport.$collector.withValue(collector) {
            #if canImport(Testing)
            if Test.current != nil { return watchIssues(body) }
            #endif
            #if canImport(XCTest)
            if XCTestReport.countFailures(body) > 0 { noteForeign("an assertion of XCTest does not hold") }
            #else
            body()
            #endif
        }
    }

    /// Runs the test of one seed and collects all failures.
    nonisolated(nonsending) func watch(_ body: nonisolated(nonsending) () async -> Void) async {
        await FailureReport.$collector.withValue(collector) {
            #if canImport(Testing)
            if Test.current != nil { return await watchIssues(body) }
            #endif
            #if canImport(XCTest)
            if await XCTestReport.countFailures(body) > 0 { noteForeign("an assertion of XCTest does not hold") }
            #else
            await body()
            #endif
        }
    }

    #if canImport(Testing)
    private func watchIssues(_ body: () -> Void) {
        withKnownIssue(
            "a seed that fails", isIntermittent: true, body, when: { true },
            matching: { issue in
                self.noteForeign("\(issue)")
                return true
            })
    }

    private nonisolated(nonsending) func watchIssues(_ body: nonisolated(nonsending) () async -> Void) async {
        await withKnownIssue("a seed that fails", isIntermittent: true) {
            await body()
        } when: {
            true
        } matching: { issue in
            self.noteForeign("\(issue)")
            return true
        }
    }
    #endif

    /// The first failure, if the run failed.
    var failure: String? {
        collector.failures.first.map { "\($0.place.fileID):\($0.place.line): \($0.message)" } ?? foreign.value
    }
}
