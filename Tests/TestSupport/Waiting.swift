package import Testing

/// The limit of every wait of a test for something that must happen. It is long, so that a slow or busy machine makes no test
/// fail. A test has another limit only where it proves how long something takes.
package let waitLimit = Duration.seconds(120)

/// Suspends the task while a condition holds, and yields between two looks at it.
///
/// It is for changes that nothing announces, such as a metric in a snapshot. If something announces the change, await that.
/// Beyond ``waitLimit`` it records an issue and returns. It also returns when the task of the test is cancelled, for example
/// at the test's time limit.
package func suspend(
    while condition: @autoclosure () throws -> Bool, isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation
) async rethrows {
    let end = ContinuousClock.now + waitLimit
    while !Task.isCancelled, try condition() {
        if ContinuousClock.now > end {
            Issue.record("nothing has changed within \(waitLimit)", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}
