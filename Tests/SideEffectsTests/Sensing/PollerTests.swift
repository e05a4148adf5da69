import FeedbackKitTesting
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import SideEffects

@Suite(.timeLimit(.minutes(5))) struct `Waits for descriptors` {
    /// The two ends of a pipe, which a test closes.
    private static func pipe() -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    @Test func `end with data, with the end, and at once if there is data already`() async throws {
        let (reading, writing) = Self.pipe()
        defer { close(reading) }
        async let data: Void = Poller.shared.readable(reading)
        #expect(write(writing, "x", 1) == 1)
        try await data
        try await Poller.shared.readable(reading)
        var byte: UInt8 = 0
        #expect(read(reading, &byte, 1) == 1)
        async let end: Void = Poller.shared.readable(reading)
        close(writing)
        try await end
        #expect(read(reading, &byte, 1) == 0)
    }

    @Test func `end when the task is cancelled, before and during the wait`() async throws {
        let (reading, writing) = Self.pipe()
        defer { for descriptor in [reading, writing] { close(descriptor) } }
        for round in 0..<1_000 {
            let task = Task {
                if round.isMultiple(of: 2) { withUnsafeCurrentTask { $0?.cancel() } }
                try await Poller.shared.readable(reading)
            }
            // Sometimes the wait has begun before the cancellation, and sometimes not.
            if round.isMultiple(of: 3) { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `leave the number of a descriptor to the next file`() async throws {
        for _ in 0..<300 {
            let (reading, writing) = Self.pipe()
            let task = Task { try await Poller.shared.readable(reading) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            close(reading)
            close(writing)
            // The kernel gives the same numbers again.
            let next = Self.pipe()
            async let data: Void = Poller.shared.readable(next.reading)
            #expect(write(next.writing, "x", 1) == 1)
            try await data
            close(next.reading)
            close(next.writing)
        }
    }

    @Test func `report a descriptor that cannot be watched, and end at a limit`() async throws {
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        await #expect(throws: Errno.notPermitted) { try await Poller.shared.readable(file) }
        let (reading, writing) = Self.pipe()
        defer { for descriptor in [reading, writing] { close(descriptor) } }
        let clock = ManualClock()
        async let isReadable = Poller.shared.readable(reading, within: .seconds(1), clock: clock)
        await clock.nextDeadline(in: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await !isReadable)
        #expect(write(writing, "x", 1) == 1)
        #expect(try await Poller.shared.readable(reading, within: .seconds(1), clock: clock))
    }

    @Test func `end for many descriptors at once`() async throws {
        let pipes = (0..<200).map { _ in Self.pipe() }
        defer { for pipe in pipes { for descriptor in [pipe.reading, pipe.writing] { close(descriptor) } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pipe in pipes { group.addTask { try await Poller.shared.readable(pipe.reading) } }
            for pipe in pipes { #expect(write(pipe.writing, "x", 1) == 1) }
            try await group.waitForAll()
        }
    }
}
