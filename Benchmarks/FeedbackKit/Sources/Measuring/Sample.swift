import Glibc

/// The result of one measurement.
public struct Sample: Sendable {
    /// Turns a second, or whatever the line counts.
    public let figure: Double
    /// Nanoseconds of processor time a turn, of all threads together; 0 where that means nothing.
    public let processorNanoseconds: Double

    /// A figure that is not a rate.
    public init(figure: Double) {
        self.figure = figure
        processorNanoseconds = 0
    }

    /// A rate.
    public init(turns: Int, wall: Double, processor: Double) {
        figure = Double(turns) / wall
        processorNanoseconds = processor * 1e9 / Double(turns)
    }

    /// Times a function that takes so many turns and returns when all of them are done.
    @inline(never)
    public static func timing(_ turns: Int, _ body: () -> Void) -> Sample {
        let (wall, processor) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
        body()
        return Sample(
            turns: turns, wall: seconds(CLOCK_MONOTONIC) - wall,
            processor: seconds(CLOCK_PROCESS_CPUTIME_ID) - processor)
    }

    /// Times an async function that takes so many turns and returns when all of them are done.
    @inline(never)
    public static func timing(_ turns: Int, _ body: () async -> Void) async -> Sample {
        let (wall, processor) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
        await body()
        return Sample(
            turns: turns, wall: seconds(CLOCK_MONOTONIC) - wall,
            processor: seconds(CLOCK_PROCESS_CPUTIME_ID) - processor)
    }

    /// A clock of the system.
    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
