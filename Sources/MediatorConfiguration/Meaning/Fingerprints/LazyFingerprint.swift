import Synchronization

/// A fingerprint that is worked out when it is first asked for: only who compares needs it, and most are never compared.
final class LazyFingerprint: Sendable {
    private enum State: Sendable {
        case known(String)
        case pending(@Sendable () -> String)
    }

    private let state: Mutex<State>
    private let findParts: @Sendable () -> [DefinitionPart]
    /// The numbers of the feedbacks of a system, in their order, with the values from elsewhere and the constants that
    /// they use; nil: the feedbacks use none.
    private let knownFeedbacks: [UInt64]?

    /// One that is known.
    init(_ text: String, feedbacks: [UInt64], parts: @escaping @Sendable () -> [DefinitionPart]) {
        state = Mutex(.known(text))
        knownFeedbacks = feedbacks
        findParts = parts
    }

    /// One that can be worked out, always to the same.
    init(_ work: @escaping @Sendable () -> String, parts: @escaping @Sendable () -> [DefinitionPart]) {
        state = Mutex(.pending(work))
        knownFeedbacks = nil
        findParts = parts
    }

    /// The fingerprint of the same definition, with or without what survives the end of the process.
    func persisted(_ isPersisted: Bool) -> LazyFingerprint { isPersisted ? LazyFingerprint(persisted: self) : self }

    /// The fingerprint of a definition which survives the end of the process, and is otherwise the same as another.
    private init(persisted other: LazyFingerprint) {
        state = Mutex(
            .pending {
                var print = Fingerprint()
                print.add(other.text)
                print.add("persist")
                return print.text
            })
        knownFeedbacks = other.knownFeedbacks
        findParts = {
            other.parts + [DefinitionPart(name: "persist", source: nil, fingerprint: 0, texts: nil)]
        }
    }

    /// The parts of the definition, each with its own fingerprint. They are computed each time.
    var parts: [DefinitionPart] { findParts() }

    /// For each feedback of a system, in their order, a number that is the same for feedbacks that mean the same.
    var feedbacks: [UInt64] { knownFeedbacks ?? parts.filter(\.isFeedback).map(\.fingerprint) }

    /// The number as 32 hexadecimal digits. Threads that need it at the same time may each compute it.
    var text: String {
        switch state.withLock({ $0 }) {
        case .known(let text): return text
        case .pending(let work):
            let text = work()
            state.withLock { $0 = .known(text) }
            return text
        }
    }
}
