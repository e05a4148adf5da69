package import Durability
package import MediatorHost

/// The changes on their way from the host to the store, and those that the store has refused. It has no lock, thread or clock.
///
/// The store gets the changes in the order of ``add(_:_:)``, also those that are tried again. So an older state never
/// replaces a newer one. Of each part only the newest refused change is kept, so the number of parts is the bound.
package struct StoreOutbox {
    /// The subject of a change. A later change of the same subject replaces an earlier one.
    package enum Subject: Sendable, Hashable {
        case part(PartKey)
        /// The milestones of this life. After ``/Durability/StoreMilestone/ready`` an earlier one makes no difference.
        case life
    }

    package enum Content: Sendable {
        case change(HostChange)
        case milestone(StoreMilestone)

        package var subject: Subject {
            switch self {
            case .change(let change): .part(change.key)
            case .milestone: .life
            }
        }
    }

    /// A change on its way to the store.
    package struct Entry: Sendable {
        package let content: Content
        let number: UInt64
        /// Called when the change is stored or was refused.
        package let done: @Sendable () -> Void
    }

    /// The consequences of an outcome.
    package struct Consequences: Sendable, Equatable {
        /// The trouble to report; `nil` if it has been reported already, or no state is lost.
        package var trouble: StoreTrouble?
        /// A Boolean value that indicates whether a wait for the next attempt begins.
        package var waits = false
        /// A Boolean value that indicates whether all changes that were refused are stored now.
        package var hasRecovered = false
        /// A Boolean value that indicates whether ``StoreOutbox/troubles`` has changed.
        package var isNews = false

        package init(
            trouble: StoreTrouble? = nil, waits: Bool = false, hasRecovered: Bool = false, isNews: Bool = false
        ) {
            self.trouble = trouble
            self.waits = waits
            self.hasRecovered = hasRecovered
            self.isNews = isNews
        }
    }

    private var queue: [Entry] = []
    /// A Boolean value that indicates whether a thread sends the queue.
    package private(set) var isSending = false
    private var number: UInt64 = 0
    /// The newest change of each subject that the store has not answered.
    private var inFlight: [Subject: UInt64] = [:]
    /// The newest refused change of each subject, until that or a later one is stored.
    private var unstored: [Subject: (content: Content, trouble: StoreTrouble)] = [:]
    private var isWaiting = false
    /// The troubles that were reported since everything was stored.
    private var told: Set<StoreTrouble> = []

    /// An empty one.
    package init() {}

    /// The number of subjects whose newest state is not stored, because the store has refused it.
    package var refused: Int { unstored.count }

    /// The reasons why the newest states of parts are not stored.
    package var troubles: [PartKey: StoreTrouble] {
        var troubles: [PartKey: StoreTrouble] = [:]
        for case (.part(let key), let refused) in unstored { troubles[key] = refused.trouble }
        return troubles
    }

    /// Tries a refused change of a part no more.
    package mutating func forget(_ key: PartKey) { unstored[.part(key)] = nil }

    /// Queues a change.
    package mutating func add(_ content: Content, _ done: @escaping @Sendable () -> Void) {
        number += 1
        inFlight[content.subject] = number
        queue.append(Entry(content: content, number: number, done: done))
    }

    /// Returns whether the caller sends the queue now; another thread may do so already.
    package mutating func beginSending() -> Bool {
        guard !isSending, !queue.isEmpty else { return false }
        isSending = true
        return true
    }

    /// Returns the entries to send next, in order; `nil` if the queue is empty.
    package mutating func next() -> [Entry]? {
        guard !queue.isEmpty else {
            isSending = false
            return nil
        }
        defer { queue = [] }
        return queue
    }

    /// Notes the outcome of an entry.
    package mutating func settle(_ entry: Entry, _ outcome: StoreOutcome) -> Consequences {
        var consequences = Consequences()
        let subject = entry.content.subject
        let isNewest = inFlight[subject] == entry.number
        if isNewest {
            inFlight[subject] = nil
            let before = unstored[subject]?.trouble
            unstored[subject] = outcome.loss.map { (entry.content, $0) }
            consequences.isNews = unstored[subject]?.trouble != before
        }
        switch outcome {
        case .synced:
            if unstored.isEmpty, !told.isEmpty {
                told = []
                consequences.hasRecovered = true
            }
        case .refused(let trouble):
            if outcome.loss != nil, told.insert(trouble).inserted { consequences.trouble = trouble }
            if !isWaiting, unstored.values.contains(where: \.trouble.mayPass) {
                isWaiting = true
                consequences.waits = true
            }
        }
        return consequences
    }

    /// Queues the refused changes again. Those of subjects with a later change on its way stay.
    package mutating func tryAgain() {
        isWaiting = false
        for (subject, refused) in unstored where inFlight[subject] == nil && refused.trouble.mayPass {
            add(refused.content) {}
        }
    }
}

extension HostChange {
    /// The identity of the part in the store.
    package var key: PartKey { PartKey(kind: part == .system ? PartKey.system : PartKey.bus, name: name) }
}

extension PartKey {
    /// The kind of systems.
    package static let system: UInt8 = 1
    /// The kind of buses.
    package static let bus: UInt8 = 2
}

extension StoreTrouble {
    /// A Boolean value that indicates whether another attempt with the same change can succeed.
    fileprivate var mayPass: Bool {
        switch self {
        case .tooLarge, .damaged: false
        default: true
        }
    }
}

extension StoreOutcome {
    /// The reason why the store lacks a state that it should have, if it does. A later state, and the end, are no such reason.
    fileprivate var loss: StoreTrouble? {
        switch self {
        case .synced, .refused(.superseded), .refused(.closed): nil
        case .refused(let trouble): trouble
        }
    }
}
