import Testing

/// Suspends the task while a condition holds, and yields between two looks at it.
///
/// It is for changes that nothing announces, such as a metric in a snapshot. It ends when the task of the test is
/// cancelled, for example at the test's time limit; the expectations behind it then fail. If something announces the
/// change, await that.
package func suspend(
    while condition: @autoclosure () throws -> Bool, isolation: isolated (any Actor)? = #isolation
) async rethrows {
    while !Task.isCancelled, try condition() { await Task.yield() }
}

/// Returns when the systems of a host have handled their events, and the events that these caused in other systems.
///
/// One look ends behind the events that waited before it. An event may cause another one, so several looks follow.
///
/// - Parameter stuckSystems: Returns the systems that do not answer within a time. The test expects none.
package func settle(looks: Int = 10, _ stuckSystems: @Sendable (Duration) async -> [String]) async {
    for _ in 0..<looks { #expect(await stuckSystems(.seconds(1_000_000)).isEmpty) }
}
