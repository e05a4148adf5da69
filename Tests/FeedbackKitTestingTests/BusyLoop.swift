import FeedbackKit
import FeedbackKitTesting
import Testing

/// A loop with sleeping, debounced, limited and grouped side effects, all at once.
private func busyLoop(_ simulation: Simulation) -> Loop<[String], String> {
    let workers = Feedback<[String], String>(name: "workers", cancellation: .never) { state, event in
        guard event == nil else { return .nothing }
        return .all([
            .run { send in
                await withTaskGroup(of: Void.self) { group in
                    for child in 1...3 {
                        group.addTask {
                            try? await send.clock.sleep(for: .milliseconds(10))
                            send("child \(child)")
                        }
                    }
                }
                send("group")
            },
            .run { send in
                for tick in 1...3 {
                    try? await send.clock.sleep(for: .milliseconds(7))
                    await Task.yield()
                    send("tick \(tick)")
                }
            },
            Effect<String>.run { send in
                try? await send.clock.sleep(for: .seconds(9))
                send("too late")
            }.timeout(after: .milliseconds(20), "timeout"),
            .after(.milliseconds(10), "timer"),
        ])
    }
    let debounced = Feedback<[String], String>(name: "debounced", cancellation: .never) { _, event in
        guard let event, event.hasPrefix("tick") else { return .nothing }
        return Effect<String>.just("quiet since \(event)").debounce(id: "quiet", for: .milliseconds(5))
    }
    let restarted = Feedback<[String], String>(name: "restarted") { state, _ in
        .run { send in
            try? await send.clock.sleep(for: .milliseconds(3))
            if state.count < 12 { send("after \(state.count)") }
        }
    }
    return Loop(
        initial: [], feedbacks: [workers, debounced, restarted], executor: simulation, clock: simulation.clock
    ) { state, event in
        state.append(event)
        simulation.note(event)
        return .handled
    }
}

/// Runs such a loop from start to end.
func busyRun(seed: UInt64) -> SimulationTrace {
    let simulation = Simulation(seed: seed)
    let loop = busyLoop(simulation)
    loop.start()
    simulation.runToEnd()
    loop.beginStop()
    simulation.runToEnd()
    #expect(loop.phase == .stopped)
    return simulation.trace
}
