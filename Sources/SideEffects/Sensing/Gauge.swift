import CommonExpression
import MediatorConfiguration
import MediatorHost

/// Measures a value repeatedly, and reports when it rises above a limit and when it falls below another.
///
/// The interval belongs to the feedback, not to a run. A run that begins sooner than `every` after the last measurement
/// waits for the rest of the interval. A system that enters a new state with each measurement therefore measures once
/// per interval.
struct Gauge {
    /// A measurement: the value that is compared with the limits, and the fields of the result.
    typealias Measurement = (level: Double, fields: [Value])

    /// The state that one run leaves for the next.
    private struct Memory: Sendable {
        /// The time since the last measurement began.
        var elapsed: (@Sendable () -> Duration)?
        var isAbove = false
    }

    let schema: EffectSchema
    let every: Duration
    /// The upper limit, above which the value is high, and the lower limit, below which it is low again.
    let limits: (above: Double, below: Double)?

    /// Measures until the task is cancelled. Reports `onAbove` or `onBelow` at the beginning and after each change, and
    /// `onSample` after each measurement.
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
                complaints.clear(context)
                if let limits {
                    let was = memory.isAbove
                    if measurement.level > limits.above { memory.isAbove = true }
                    if measurement.level < limits.below { memory.isAbove = false }
                    context.memory.keep(memory)
                    // The change comes before the sample, because a reaction to the sample may withdraw later reports.
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
