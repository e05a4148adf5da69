/// The entries of one transaction, with those who wait for them.
struct Batch {
    /// The encoded entries.
    private(set) var entries: [EncodedEntry] = []
    private var waiting: [(done: @Sendable (StoreOutcome) -> Void, isTooLarge: Bool)] = []

    /// The number of outcomes to report.
    var count: Int { waiting.count }

    /// Takes entries until there are ``StoreLimits/changes``, or their bodies have ``StoreLimits/bytes``, and at least one.
    init(_ rest: inout ArraySlice<StoreQueue.Entry>) {
        var bytes = 0
        while count < StoreLimits.changes, bytes < StoreLimits.bytes, let entry = rest.popFirst() {
            switch entry.content {
            case .milestone(let milestone):
                waiting.append((entry.done, false))
                entries.append(.milestone(milestone))
            case .change(let change):
                let body = change.encode()
                let size = body?.count ?? 0
                let isTooLarge = size > StoreLimits.body
                waiting.append((entry.done, isTooLarge))
                guard !isTooLarge else { continue }
                bytes += size
                entries.append(
                    .change(EncodedChange(key: change.key, epoch: change.epoch, phase: change.phase, body: body)))
            }
        }
    }

    /// Reports the outcomes of the encoded entries, in their order.
    func report(_ outcomes: [StoreOutcome]) {
        var rest = outcomes[...]
        for (done, isTooLarge) in waiting { done(isTooLarge ? .refused(.tooLarge) : rest.removeFirst()) }
    }
}
