#if canImport(os)
import os
#endif

/// What a store's logger tells.
public struct StoreLogOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Options of these bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Each action, as the reducer sees it: `action Action.modify(Modification.increase)`.
    public static let actions = StoreLogOptions(rawValue: 1)
    /// What each batch changed: `  counter: 1 → 2`, or `  no change`.
    public static let changes = StoreLogOptions(rawValue: 2)
    /// Each async action that is given to the thunk: `async Work.reset`.
    public static let asyncActions = StoreLogOptions(rawValue: 4)
    /// Each batch that the middleware changed: `dispatched […]`, as it came.
    public static let middleware = StoreLogOptions(rawValue: 8)
    /// All of it.
    public static let all: StoreLogOptions = [.actions, .changes, .asyncActions, .middleware]

    /// A value in one line, of bounded length however large it is.
    static func text(_ value: Any) -> String {
        ValueTree.brief(value, characters: StateDifference.maximumText)
    }
}

extension BaseStore {
    /// Tells `log`, line by line, what the store takes and what that changes, until the subscription is cancelled or
    /// released. After Recombine's debug printers.
    ///
    /// It is called on the store's turn, and prints states by reflection, which is slow: it is for debugging. The
    /// library itself prints nothing.
    public func logging(
        _ options: StoreLogOptions = .all, to log: @escaping @Sendable (String) -> Void
    ) -> Subscription {
        let tell: @Sendable (AsyncAction) -> Void = { action in log("async \(StoreLogOptions.text(action))") }
        let note = options.contains(.asyncActions) ? tell : nil
        return tap(
            { state, step in
                guard let step else { return }
                if let action = step.async { note?(action) }
                if step.isReset { log("replay begins") }
                if options.contains(.middleware), let before = step.before,
                    ValueTree(before) != ValueTree(step.after ?? [])
                {
                    log("dispatched \(StoreLogOptions.text(before))")
                }
                if options.contains(.actions) {
                    for action in step.after ?? [] { log("action \(StoreLogOptions.text(action))") }
                }
                guard options.contains(.changes), step.after != nil || step.isReset else { return }
                guard step.isChange else { return log("  no change") }
                for line in StateDifference.lines(from: step.previous, to: state) { log("  " + line) }
            }, note: note, finish: {})
    }

    #if canImport(os)
    /// Emits a signpost for each batch that the reducer has taken, until the subscription is cancelled or released.
    public func signposts(subsystem: String, category: String = "store") -> Subscription {
        let signposter = OSSignposter(subsystem: subsystem, category: category)
        return watchActions(.afterMiddleware) { actions in
            signposter.emitEvent("batch", "\(actions.count, privacy: .public) actions")
        }
    }
    #endif
}
