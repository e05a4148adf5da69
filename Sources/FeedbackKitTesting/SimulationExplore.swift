#if canImport(Testing)
import Testing
#endif

extension Simulation {
    /// Runs a test once for each seed, each time with a fresh simulation, and reports the first seed for which it fails
    /// and how to run that one again.
    ///
    ///     Simulation.explore(seeds: 0..<1000) { simulation in
    ///         let store = TestStore(initial: …, in: simulation) { … }
    ///         …
    ///     }
    ///
    /// A run fails if `body` throws, or if an expectation in it does not hold: one of this module, of Swift Testing
    /// (`#expect`, `#require`), or of XCTest. It stops with the first seed that fails. Expectations of Swift Testing
    /// that did not hold are listed as known issues; the failure itself is recorded at the caller's line.
    ///
    /// - Parameters:
    ///   - seeds: which seeds, in order.
    ///   - maximumSteps: how many steps one call of a driving function may take, see ``maximumSteps``.
    /// - Returns: the seed that fails; `nil` if none does.
    @discardableResult
    public static func explore(
        seeds: Range<UInt64>, maximumSteps: Int = 200_000,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ body: (Simulation) throws -> Void
    ) -> UInt64? {
        for seed in seeds {
            let simulation = Simulation(seed: seed, maximumSteps: maximumSteps)
            let run = SeedRun()
            run.watch {
                do { try body(simulation) } catch { run.note(error) }
            }
            simulation.clear()
            if let message = run.failure(of: simulation, among: seeds) {
                FailureReport.report(message, at: SourcePlace(fileID, filePath, line, column))
                return seed
            }
        }
        return nil
    }

    /// Runs an async test once for each seed: see the form that is not `async`.
    ///
    /// The test itself is not part of the simulation: in it, ``perform(within:fileID:filePath:line:column:_:)`` awaits
    /// what only the simulation brings about.
    @discardableResult
    public nonisolated(nonsending) static func explore(
        seeds: Range<UInt64>, maximumSteps: Int = 200_000,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ body: nonisolated(nonsending) (Simulation) async throws -> Void
    ) async -> UInt64? {
        for seed in seeds {
            let simulation = Simulation(seed: seed, maximumSteps: maximumSteps)
            let run = SeedRun()
            await run.watch {
                do { try await body(simulation) } catch { run.note(error) }
            }
            simulation.clear()
            if let message = run.failure(of: simulation, among: seeds) {
                FailureReport.report(message, at: SourcePlace(fileID, filePath, line, column))
                return seed
            }
        }
        return nil
    }

    /// Ends whoever still sleeps, and runs what is left, so that no task remains. Failures no longer count.
    func clear() {
        settle { self.wakeAllSleepers() }
    }

    /// Runs what is runnable, within reason. Failures no longer count.
    func settle(_ beforeEach: () -> Void = {}) {
        FailureReport.$collector.withValue(FailureCollector()) {
            _ = drive(.now, limit: Self.stepsToSettle, SourcePlace(#fileID, #filePath, #line, #column)) {
                beforeEach()
                return false
            }
        }
    }

    /// How many steps are spent on ending what a run has left behind.
    private static let stepsToSettle = 10_000
}

/// What goes wrong in the run of one seed.
private final class SeedRun: Sendable {
    private let collector = FailureCollector()
    /// The first thing that went wrong and came from elsewhere than this module.
    private let foreign = SharedValue<String?>(nil)

    /// `body` has thrown.
    func note(_ error: any Error) {
        noteForeign("it throws \(error)")
    }

    private func noteForeign(_ text: String) {
        foreign.with { $0 = $0 ?? text }
    }

    /// Runs one seed's test with all failures going here.
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

    /// Runs one seed's test with all failures going here.
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

    /// What to report, if anything went wrong.
    func failure(of simulation: Simulation, among seeds: Range<UInt64>) -> String? {
        guard
            let first = collector.failures.first.map({ "\($0.place.fileID):\($0.place.line): \($0.message)" })
                ?? foreign.value
        else { return nil }
        let seed = simulation.seed
        return
            "seed \(seed) fails, after \(seed - seeds.lowerBound) that do not: \(first)\n"
            + "run it again with Simulation(seed: \(seed)), or with explore(seeds: \(seed)..<\(seed + 1))"
    }
}
