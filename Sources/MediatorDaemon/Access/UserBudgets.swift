import CommonExpression
package import MediatorHost
import Synchronization

/// The budgets of work that the control interface does for each user in a second. Administrators have no budget.
package final class UserBudgets: Sendable {
    /// The steps for a user in a second: about a tenth of a processor.
    static let rate = 10_000_000
    /// The cost of a new connection.
    static let connection = 5_000
    /// The cost of a call with its reply, of each further reply to it, and of each reply of a watch, beside its parts.
    static let reply = 500
    /// The cost of a refusal, which is logged, beside that of the call.
    static let refusal = 1_000
    /// The cost of the begin of a watch, whose condition is checked.
    static let watch = 5_000
    /// The cost of each part in a list.
    static let part = 1_000
    /// The cost of a description, a trace or a chain of causes.
    static let story = 20_000
    /// The cost of each byte of a call, and of a reply other than those of a watch.
    static let byte = 1
    /// The cost of each byte of long data that a watch tells.
    static let watchedByte = 4
    /// The number of users that are remembered; those beyond have full budgets again.
    private static let mostUsers = 1_000

    private let time: HostTime
    private let rate: Int
    private let budgets = Mutex<[UInt32: WorkBudget]>([:])

    package init(time: HostTime, rate: Int = UserBudgets.rate) {
        self.time = time
        self.rate = rate
    }

    /// The budget of a user.
    package subscript(user: UInt32) -> WorkBudget {
        if let known = budgets.withLock({ $0[user] }) { return known }
        let fresh = WorkBudget(rate: rate, time: time)
        let (budget, forgotten) = budgets.withLock { budgets -> (WorkBudget, [UInt32: WorkBudget]) in
            if let known = budgets[user] { return (known, [:]) }
            var forgotten: [UInt32: WorkBudget] = [:]
            if budgets.count >= Self.mostUsers {
                forgotten = budgets
                budgets = budgets.filter { $0.value.isUsedUp }
            }
            budgets[user] = fresh
            return (fresh, forgotten)
        }
        withExtendedLifetime(forgotten) {}
        return budget
    }
}

/// The share of one watch in its user's budget: for each happening the steps of its condition, and the cost of telling it.
package final class UserPace: WatchPace {
    private let budget: WorkBudget
    /// The most steps that a condition may take.
    private let condition: Int
    private let taken = Atomic<Int>(0)
    private let size = Atomic<Int>(0)
    private let spent = Atomic<Int>(0)

    /// - Parameter condition: the limit on the steps of the condition; 0 if there is no condition.
    package init(_ budget: WorkBudget, condition: Int) {
        self.budget = budget
        self.condition = condition
    }

    package func begin(ofSize size: Int) async {
        let steps = condition + Self.telling(size)
        taken.store(steps, ordering: .relaxed)
        self.size.store(size, ordering: .relaxed)
        spent.store(0, ordering: .relaxed)
        await budget.take(steps)
    }

    /// The condition has taken so many steps.
    package func spend(_ steps: Int) { spent.add(steps, ordering: .relaxed) }

    package func end(isTold: Bool) {
        let used = spent.load(ordering: .relaxed) + (isTold ? Self.telling(size.load(ordering: .relaxed)) : 0)
        budget.giveBack(taken.load(ordering: .relaxed) - used)
    }

    private static func telling(_ size: Int) -> Int { UserBudgets.reply + UserBudgets.watchedByte * size }
}
