import FeedbackKit
import Measuring

/// The cost of a dispatch to a store.
enum StoreLines {
    static let lines = [
        Line("store-dispatch", turns: 2_000_000) { dispatch($0) }
    ]

    private enum Action: Sendable { case add(Int) }
    private enum NoAction: Sendable {}

    /// Sync actions, one at a time, on the sender's thread.
    private static func dispatch(_ turns: Int) -> Sample {
        let store = BaseStore<Int, NoAction, Action>(
            state: 0,
            reducer: Reducer { state, action in
                switch action {
                case .add(let amount): state += amount
                }
            },
            publishOn: .sendersThread)
        let sample = Sample.timing(turns) {
            for _ in 0..<turns { store.dispatch(sync: .add(1)) }
        }
        precondition(store.state == turns, "\(store.state) of \(turns) actions were taken")
        return sample
    }
}
