import Synchronization

/// The settings of a store on the disk.
package struct DiskStoreSettings: Sendable {
    /// The directory of the store. Its last part is made if it is missing. Nothing else may open the files in it.
    package var directory: String
    /// The file for the copy of the head, in a directory that the next boot empties. With `nil` a lost tail is not noticed.
    package var headCopy: String?
    /// The largest size of the database in bytes, without its log of about 4 MiB and without copies of damaged files. Beyond it the
    /// store is ``StoreTrouble/full``.
    package var limit: Int64 = 256 << 20
    /// The time without work after which an idle store moves its log into the database and empties the log's file, if that has 1 MiB or more.
    package var idle: Duration = .seconds(10)
    /// Reads the clocks.
    package var time: @Sendable () -> StoreTime = StoreTime.now
    /// Starts a thread. Returns `false` if the system cannot. It needs a stack of 256 KiB.
    package var startThread: @Sendable (@escaping @Sendable () -> Void) -> Bool
    /// Receives the reason when the store fails for good. It is called once, on the thread of the store. The process must end then,
    /// because memory and disk may differ.
    package var failed: @Sendable (StoreTrouble) -> Void

    package init(
        directory: String, headCopy: String?, startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool,
        failed: @escaping @Sendable (StoreTrouble) -> Void
    ) {
        self.directory = directory
        self.headCopy = headCopy
        self.startThread = startThread
        self.failed = failed
    }
}

/// A store in an SQLite database.
///
/// One thread owns the connection. For each batch it encodes the changes, commits them with a sync, copies the head, and reports the
/// outcomes in order.
///
/// | failure | consequence |
/// |---|---|
/// | a batch is refused: the disk is full or read-only, or a write fails | its halves are tried alone, down to single changes |
/// | a single change is refused | its outcome says so, and the next one may succeed |
/// | a sync fails | no outcome is reported again, and `failed` is called: Linux drops the data and reports that once |
/// | a sync hangs | ``StoreMetrics/pendingSince`` stays, and the queue fills up to ``StoreLimits/queue`` |
/// | a checkpoint fails, other than in its sync | the log grows, and the next attempt follows after 4 MiB |
/// | a copy of damaged files fails | changes are refused, and the next one tries it again |
package final class DiskStore: PartStore {
    private struct State {
        var queue = StoreQueue()
        var metrics = StoreMetrics()
        /// Whether the store has not failed, and has noted its clean end if it is closed.
        var isComplete = true
    }

    private let settings: DiskStoreSettings
    private let state = Mutex(State())
    private let work: ThreadSignal
    private let ended: ThreadSignal

    /// Creates a closed store. Nothing is opened before ``load()``.
    package init(_ settings: DiskStoreSettings) throws(StoreTrouble) {
        self.settings = settings
        work = try ThreadSignal()
        ended = try ThreadSignal()
    }

    package func load() throws(StoreTrouble) -> StoreContents {
        guard state.withLock({ $0.queue.load() }) else { throw .closed }
        do throws(StoreTrouble) {
            let (file, contents) = try open()
            // The creator keeps no reference to the file, and only the thread takes it.
            let handover = Mutex<StoreFile?>(file)
            guard settings.startThread({ [self] in run(handover) }) else {
                throw .system(call: "pthread_create", number: 0)
            }
            state.withLock { $0.queue.loaded() }
            return contents
        } catch {
            _ = state.withLock { $0.queue.end(failed: false) }
            throw error
        }
    }

    package func put(_ change: PartChange, done: @escaping @Sendable (StoreOutcome) -> Void) {
        put(.change(change), done)
    }

    package func mark(_ milestone: StoreMilestone, done: @escaping @Sendable (StoreOutcome) -> Void) {
        put(.milestone(milestone), done)
    }

    package func read(_ reading: StoreReading, done: @escaping @Sendable (Result<StorePage, StoreTrouble>) -> Void) {
        switch state.withLock({ $0.queue.read(StoreQueue.Read(reading: reading, done: done)) }) {
        case .doNothing: break
        case .wake: work.send()
        case .refuse(let trouble): done(.failure(trouble))
        }
    }

    package var metrics: StoreMetrics {
        state.withLock { state in
            var metrics = state.metrics
            metrics.pendingSince = state.queue.pendingSince
            metrics.pending = state.queue.pending
            return metrics
        }
    }

    package func close(within limit: Duration) -> Bool {
        if let action = state.withLock({ $0.queue.close() }) {
            if action == .wake { work.send() }
            guard ended.wait(within: limit) else { return false }
        }
        return state.withLock { $0.isComplete }
    }

    private func put(_ content: StoreQueue.Entry.Content, _ done: @escaping @Sendable (StoreOutcome) -> Void) {
        let entry = StoreQueue.Entry(content: content, done: done, since: settings.time().boottime)
        switch state.withLock({ $0.queue.put(entry) }) {
        case .doNothing: break
        case .wake: work.send()
        case .refuse(let trouble): done(.refused(trouble))
        }
    }

    private func open() throws(StoreTrouble) -> (StoreFile, StoreContents) {
        let (file, contents) = try StoreReader.open(settings)
        // Without a copy of damaged files the contents can be read, and changes are refused.
        let isPrepared = (try? file.prepare()) != nil
        let bytes = file.bytes
        state.withLock { state in
            if !isPrepared { state.metrics.errors += 1 }
            state.metrics.bytes = bytes
        }
        return (file, contents)
    }

    /// The function of the thread.
    private func run(_ handover: borrowing Mutex<StoreFile?>) {
        let failure = serve(handover)
        let (_, reads) = state.withLock { state in
            if failure != nil { state.isComplete = false }
            return (state.queue.end(failed: failure != nil), state.queue.endReads())
        }
        for read in reads { read.done(.failure(failure ?? .closed)) }
        if let failure { settings.failed(failure) }
        ended.send()
    }

    /// Commits until the store is closed or fails, and closes the file. Returns the reason of a failure.
    private func serve(_ handover: borrowing Mutex<StoreFile?>) -> StoreTrouble? {
        guard let file = handover.withLock({ $0.take() }) else { return nil }
        var hasWorked = false
        do throws(StoreFailure) {
            while true {
                switch state.withLock({ $0.queue.next() }) {
                case .commit(let entries):
                    try commit(entries, to: file)
                    hasWorked = true
                case .read(let read):
                    read.done(Result { () throws(StoreTrouble) in try file.read(read.reading) })
                case .wait:
                    if work.wait(within: hasWorked ? settings.idle : nil) {
                        work.clear()
                    } else {
                        hasWorked = false
                        _ = try counted { () throws(StoreFailure) in try file.checkpoint(isIdle: true) }
                    }
                case .finish:
                    try finish(file)
                    return nil
                }
            }
        } catch {
            return error.trouble
        }
    }

    /// Commits entries in as many transactions as they need.
    private func commit(_ entries: [StoreQueue.Entry], to file: StoreFile) throws(StoreFailure) {
        var rest = entries[...]
        repeat {
            let batch = Batch(&rest)
            let outcomes = try commit(batch.entries, to: file)
            let isCopied = file.copyHead()
            let bytes = file.bytes
            state.withLock { state in
                if !isCopied { state.metrics.errors += 1 }
                state.metrics.bytes = bytes
            }
            batch.report(outcomes)
            let nextSince = rest.first?.since
            state.withLock { $0.queue.reported(batch.count, nextSince: nextSince) }
            _ = try counted { () throws(StoreFailure) in try file.checkpoint(isIdle: false) }
        } while !rest.isEmpty
    }

    /// Commits the entries of a batch, and returns the outcomes.
    private func commit(_ entries: [EncodedEntry], to file: StoreFile) throws(StoreFailure) -> [StoreOutcome] {
        do throws(StoreTrouble) { try file.prepare() } catch {
            state.withLock { $0.metrics.errors += 1 }
            return entries.map { _ in .refused(error) }
        }
        return try commitParts(of: entries[...], to: file)
    }

    /// Commits entries at once, or else in halves: one that cannot be written must not keep the others from the disk.
    private func commitParts(
        of entries: ArraySlice<EncodedEntry>, to file: StoreFile
    ) throws(StoreFailure) -> [StoreOutcome] {
        guard !entries.isEmpty else { return [] }
        do throws(StoreFailure) {
            let begin = settings.time()
            let outcomes = try file.commit(entries, at: begin)
            let end = settings.time()
            state.withLock { state in
                state.metrics.commits += 1
                state.metrics.lastCommit = end.wall
                state.metrics.durations.add(end.boottime - begin.boottime)
            }
            return outcomes
        } catch {
            state.withLock { $0.metrics.errors += 1 }
            guard case .refused(let trouble) = error else { throw error }
            guard entries.count > 1 else { return [.refused(trouble)] }
        }
        let middle = entries.startIndex + entries.count / 2
        return try commitParts(of: entries[..<middle], to: file) + commitParts(of: entries[middle...], to: file)
    }

    /// Notes a clean end, if this life has changed anything, and moves the log into the database.
    private func finish(_ file: StoreFile) throws(StoreFailure) {
        guard file.hasChanged else { return }
        guard file.isInPlace else {
            state.withLock { $0.isComplete = false }
            return
        }
        let isNoted = try counted { () throws(StoreFailure) in
            _ = try file.commit([], closes: true, at: settings.time())
        }
        let isCopied = file.copyHead()
        state.withLock { state in
            state.isComplete = isNoted
            if !isCopied { state.metrics.errors += 1 }
        }
        _ = try counted { () throws(StoreFailure) in try file.checkpoint(isEmptied: true) }
    }

    /// Runs work whose failure only counts. Returns `false` if it failed; a failure for good goes on.
    private func counted(_ body: () throws(StoreFailure) -> Void) throws(StoreFailure) -> Bool {
        do throws(StoreFailure) {
            try body()
            return true
        } catch {
            state.withLock { $0.metrics.errors += 1 }
            if case .failed = error { throw error }
            return false
        }
    }
}
