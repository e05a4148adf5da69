public import FeedbackKit
public import OpenCombine

extension Loop {
    /// The states, beginning with the current one, as a publisher. Subscribing starts the loop if it has not been
    /// started. The publisher completes when the loop has stopped.
    ///
    /// A subscription keeps the loop alive. Cancelling it stops the loop only if nobody else keeps the loop: a loop
    /// that is released cancels its work.
    public var publisher: OrderedPublisher<State> {
        OrderedPublisher(owner: self, begin: { [weak self] in self?.start() }) { [weak self] handler, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watch(handler, finish: end)
        }
    }
}

extension System {
    /// The states, beginning with the current one, as a publisher. Subscribing starts the system: see
    /// ``Loop/publisher``.
    public var publisher: OrderedPublisher<any State> { loop.publisher }

    /// The same as ``publisher``, with the name from the documentation of Feedbacks:
    ///
    ///     system.stream.sink { _ in }.store(in: &subscriptions)
    ///
    /// If the context requires a sequence, or no specific type, `stream` is the `AsyncStream`, which does not start the
    /// system.
    @_disfavoredOverload
    public var stream: OrderedPublisher<any State> { publisher }
}

extension UISystem {
    /// The published states as a publisher, which delivers on the main actor: the current state soon after the
    /// subscription, then each new one. It corresponds to the original's `$state`; ``ObservedUISystem`` has that name.
    /// Like the original, it does not start the system and does not complete.
    public var publisher: OrderedPublisher<PublishedState> {
        OrderedPublisher(owner: self) { [weak self] handler, _ in
            self?.subscribe { handler($0) } ?? FeedbackKit.Subscription {}
        }
    }
}

extension StateSequence {
    /// The system as a cold publisher. Each subscription creates a loop, starts it, and cancels it when the
    /// subscription is cancelled, even from within the loop's own work.
    public var publisher: AnyPublisher<State, Never> {
        Deferred {
            let loop = makeLoop()
            return OrderedPublisher(owner: loop, begin: { loop.start() }) { handler, end in
                let watching = loop.watch(handler, finish: end)
                return FeedbackKit.Subscription {
                    watching.cancel()
                    loop.cancel()
                }
            }
        }.eraseToAnyPublisher()
    }
}

extension ViewModel {
    /// The states, beginning with the current one, as a publisher. Subscribing starts the machine.
    public nonisolated var publisher: OrderedPublisher<State> {
        OrderedPublisher(owner: self) { [weak self] handler, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watch(handler, finish: end)
        }
    }

    /// The same as ``publisher``, with the name from the documentation of CombineFeedback. If the context requires a
    /// state, or no specific type, `state` is the current state.
    @_disfavoredOverload
    public nonisolated var state: OrderedPublisher<State> { publisher }
}

extension StoreProtocol {
    /// All updates as a publisher: the current state, then the state after each batch. It completes when the store
    /// stops.
    public var publisher: OrderedPublisher<SubState> {
        OrderedPublisher(owner: self) { [weak self] handler, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watchStates(handler, finish: end)
        }
    }

    /// All changes as a publisher: the current state, then each state that differs from the one before.
    public var changesPublisher: OrderedPublisher<SubState> {
        OrderedPublisher(owner: self) { [weak self] handler, end in
            guard let self else {
                end()
                return FeedbackKit.Subscription {}
            }
            return watchChanges(handler, finish: end)
        }
    }
}
