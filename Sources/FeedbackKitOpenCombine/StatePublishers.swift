public import FeedbackKit
public import OpenCombine

extension Loop {
    /// The states, from the current one on, as a publisher. Subscribing starts the loop, if it has not been started; it
    /// does not start it a second time. It completes when the loop has stopped.
    ///
    /// A subscription keeps the loop alive. Cancelling it does not stop the loop, unless nobody else keeps it: a loop
    /// that is released cancels whatever it runs.
    public var publisher: OrderedPublisher<State> {
        OrderedPublisher(owner: self, begin: { [weak self] in self?.start() }) { [weak self] see, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watch(see, finish: end)
        }
    }
}

extension System {
    /// The states, from the current one on, as a publisher. Subscribing runs the system: see ``Loop/publisher``.
    public var publisher: OrderedPublisher<any State> { loop.publisher }

    /// The same as ``publisher``, under the name the documentation of Feedbacks gives it:
    ///
    ///     system.stream.sink { _ in }.store(in: &subscriptions)
    ///
    /// Where the context wants a sequence, or says nothing, `stream` is the `AsyncStream`, which does not start the
    /// system.
    @_disfavoredOverload
    public var stream: OrderedPublisher<any State> { publisher }
}

extension UISystem {
    /// What is published, as a publisher, which delivers on the main actor, soon after the subscription and then each
    /// time. It stands for the `$state` of the original (see ``ObservedUISystem`` for that name). Like that it does not
    /// start the system and does not complete.
    public var publisher: OrderedPublisher<PublishedState> {
        OrderedPublisher(owner: self) { [weak self] see, _ in
            self?.subscribe { see($0) } ?? FeedbackKit.Subscription {}
        }
    }
}

extension StateSequence {
    /// The system as a cold publisher: each subscription makes a loop of its own, starts it, and cancels it when the
    /// subscription is cancelled, also from within a turn of the loop.
    public var publisher: AnyPublisher<State, Never> {
        Deferred {
            let loop = makeLoop()
            return OrderedPublisher(owner: loop, begin: { loop.start() }) { see, end in
                let watching = loop.watch(see, finish: end)
                return FeedbackKit.Subscription {
                    watching.cancel()
                    loop.cancel()
                }
            }
        }.eraseToAnyPublisher()
    }
}

extension ViewModel {
    /// The states, from the current one on, as a publisher. Subscribing starts the machine.
    public nonisolated var publisher: OrderedPublisher<State> {
        OrderedPublisher(owner: self) { [weak self] see, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watch(see, finish: end)
        }
    }

    /// The same as ``publisher``, under the name the documentation of CombineFeedback gives it. Where the context wants
    /// a state, or says nothing, `state` is the current state.
    @_disfavoredOverload
    public nonisolated var state: OrderedPublisher<State> { publisher }
}

extension StoreProtocol {
    /// All updates as a publisher: the current state, then the state after each batch. It completes when the store
    /// stops.
    public var publisher: OrderedPublisher<SubState> {
        OrderedPublisher(owner: self) { [weak self] see, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watchStates(see, finish: end)
        }
    }

    /// Changes only, as a publisher: the current state, then each that differs from the one before.
    public var changesPublisher: OrderedPublisher<SubState> {
        OrderedPublisher(owner: self) { [weak self] see, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watchChanges(see, finish: end)
        }
    }
}
