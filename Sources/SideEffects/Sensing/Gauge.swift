import CommonExpression
import MediatorConfiguration
import MediatorHost

/// Measures something again and again, and tells when it rises above a limit and when it has fallen below another.
///
/// The cadence belongs to the feedback, not to a run: one that begins sooner than `every` after the last measurement waits
/// until that has passed. So a system that each measurement leads to a new state measures once an interval.
struct Gauge {
    /// What a measurement gives: what is compared with the limits, and the fields of the result.
    typealias Measurement = (level: Double, fields: [Value])

    /// What one run leaves to the next.
    private struct Memory: Sendable {
        /// How long ago the last measurement began.
        var elapsed: (@Sendable () -> Duration)?
        var isAbove = false
    }

    let schema: EffectSchema
    let every: Duration
    /// Beyond the first it is above; less than the second, it is below again.
    let limits: (above: Double, below: Double)?

    /// Measures until the task is cancelled; reports `onAbove` and `onBelow` at the beginning, whichever holds, and then
    /// when it changes, and `onSample` each time.
    func run(in context: EffectContext, measure: () async throws -> Measurement) async {
        var memory = context.memory.value(Memory.self) ?? Memory()
        var complaints = Complaints()
        var isFirst = true
        while true {
            if let elapsed = memory.elapsed, elapsed() < every {
                guard (try? await context.clock.sleep(for: every - elapsed())) != nil else { return }
            }
            if Task.isCancelled { return }
            memory.elapsed = stopwatch(context.clock)
            context.memory.keep(memory)
            do {
                let measurement = try await measure()
                if Task.isCancelled { return }
                complaints.clear()
                if let limits {
                    let was = memory.isAbove
                    if measurement.level > limits.above { memory.isAbove = true }
                    if measurement.level < limits.below { memory.isAbove = false }
                    context.memory.keep(memory)
                    // Before the sample: what that leads to may withdraw what comes behind it.
                    if isFirst || memory.isAbove != was {
                        context.report(memory.isAbove ? "onAbove" : "onBelow", of: schema, measurement.fields)
                    }
                }
                isFirst = false
                context.report("onSample", of: schema, measurement.fields)
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch {
                return
            }
        }
    }
}
