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
