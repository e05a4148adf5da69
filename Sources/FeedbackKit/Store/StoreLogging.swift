#if canImport(os)
import os
#endif

/// The kinds of lines that a store logs.
public struct StoreLogOptions: OptionSet, Sendable, Hashable {
    /// The option bits.
    public let rawValue: Int

    /// Creates options from bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Each action as the reducer receives it: `action Action.modify(Modification.increase)`.
    public static let actions = StoreLogOptions(rawValue: 1)
    /// The changes that each batch made: `  counter: 1 → 2`, or `  no change`.
    public static let changes = StoreLogOptions(rawValue: 2)
    /// Each async action that goes to the thunk: `async Work.reset`.
    public static let asyncActions = StoreLogOptions(rawValue: 4)
    /// Each batch that the middleware changed, as it was dispatched: `dispatched […]`.
    public static let middleware = StoreLogOptions(rawValue: 8)
    /// All kinds of lines.
    public static let all: StoreLogOptions = [.actions, .changes, .asyncActions, .middleware]

    /// Returns a value as one line of bounded length.
    static func text(_ value: Any) -> String {
        ValueTree.brief(value, characters: StateDifference.maximumText)
    }
}

extension BaseStore {
    /// Passes a line to `log` for each action and each change of the state, until the subscription is cancelled or
    /// released. Corresponds to Recombine's debug printers.
    ///
    /// `log` runs on the store's executor. States are printed by reflection, which is slow, so use this for debugging.
    /// The library itself prints nothing.
    public func logging(
        _ options: StoreLogOptions = .all, to log: @escaping @Sendable (String) -> Void
    ) -> Subscription {
        let tell: @Sendable (AsyncAction) -> Void = { action in log("async \(StoreLogOptions.text(action))") }
        let note = options.contains(.asyncActions) ? tell : nil
        return watchSteps(
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
    /// Emits a signpost for each batch after the reducer, until the subscription is cancelled or released.
    public func signposts(subsystem: String, category: String = "store") -> Subscription {
        let signposter = OSSignposter(subsystem: subsystem, category: category)
        return watchActions(.afterMiddleware) { actions in
            signposter.emitEvent("batch", "\(actions.count, privacy: .public) actions")
        }
    }
    #endif
}
