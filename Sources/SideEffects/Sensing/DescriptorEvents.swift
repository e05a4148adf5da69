import Dispatch

/// Waits until descriptors are readable. One queue of Dispatch serves all waits, so that a wait blocks no thread of the
/// pool.
///
/// A wait registers its descriptor for one event. An event that nobody requests again is not reported again, so events
/// do not pile up for a slow reader.
enum DescriptorEvents {
    private static let queue = DispatchQueue(label: "descriptors")

    /// Waits until reading the descriptor would not block, because of data, the end, or an error.
    ///
    /// The descriptor must stay open until this returns. Throws `CancellationError` as soon as the task is cancelled.
    static func readable(_ descriptor: Int32) async throws {
        // Dispatch allows calls of a source on all threads. Its module does not declare that.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { source.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The kernel no longer watches the descriptor when this handler runs, so its owner may close it.
                source.setCancelHandler { continuation.resume() }
                source.activate()
            }
        } onCancel: {
            source.cancel()
        }
        try Task.checkCancellation()
    }

    /// Waits likewise, up to a limit. Returns whether the descriptor is readable.
    static func readable(_ descriptor: Int32, within limit: Duration, clock: any Clock<Duration>) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await readable(descriptor)
                return true
            }
            group.addTask {
                try await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }
}
