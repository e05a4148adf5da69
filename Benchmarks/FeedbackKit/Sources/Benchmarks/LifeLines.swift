import CMemory
import FeedbackKit
import Measuring

/// The cost of an idle system: to start, stop and keep it.
enum LifeLines {
    static let lines = [
        Line("start-stop", turns: 60_000, concurrently: { await startAndStop($0) }),
        Line("idle-rss", turns: 100_000, concurrently: { await idle($0).resident }),
        Line("idle-allocated", turns: 100_000, concurrently: { await idle($0).allocated }),
        Line("idle-loop-allocated", turns: 100_000) { idleLoops($0) },
    ]

    /// Builds a system, starts it, and stops it gently; it has one feedback and two transitions.
    private static func startAndStop(_ turns: Int) async -> Sample {
        await Sample.timing(turns) {
            for _ in 0..<turns {
                let system = SystemLines.make(feedbacks: 1)
                system.start()
                await system.stop()
            }
        }
    }

    /// The bytes of each of many started, idle systems: resident in memory and allocated.
    private static func idle(_ count: Int) async -> (resident: Sample, allocated: Sample) {
        let started = Latch(count)
        await warmUp()
        let (resident, allocated) = (Int(memory_resident()), Int(memory_allocated()))
        var systems: [System] = []
        systems.reserveCapacity(count)
        for _ in 0..<count {
            systems.append(
                System {
                    InitialState { SystemLines.Idle(total: 0) }
                    Feedbacks {
                        Feedback(on: SystemLines.Idle.self, strategy: .cancelOnNewState) { state in
                            if state.total == 0 { started.count() }
                            return nil
                        }
                    }
                    Transitions {
                        From(SystemLines.Idle.self) { state in
                            On(SystemLines.Step.self, transitionTo: SystemLines.Busy.self) { event in
                                SystemLines.Busy(total: state.total + event.by)
                            }
                        }
                        From(SystemLines.Busy.self) { state in
                            On(SystemLines.Step.self, transitionTo: SystemLines.Idle.self) { event in
                                SystemLines.Idle(total: state.total + event.by)
                            }
                        }
                    }
                })
        }
        for system in systems { system.start() }
        await started.wait()
        // Some of the turns that have shown the first state, at most one for each thread, have not quite ended.
        let bytes = (Int(memory_resident()) - resident, Int(memory_allocated()) - allocated)
        withExtendedLifetime(systems) {}
        return (
            Sample(figure: Double(bytes.0) / Double(count)), Sample(figure: Double(bytes.1) / Double(count))
        )
    }

    /// The same for typed loops with one feedback, allocated.
    private static func idleLoops(_ count: Int) -> Sample {
        let before = Int(memory_allocated())
        var loops: [Loop<Int, Int>] = []
        loops.reserveCapacity(count)
        for _ in 0..<count {
            loops.append(
                Loop(initial: 0, feedbacks: [Feedback { _, _ in .nothing }], executor: .sendersThread) { state, event in
                    state += event
                    return .handled
                })
        }
        for loop in loops { loop.start() }
        let bytes = Int(memory_allocated()) - before
        withExtendedLifetime(loops) {}
        return Sample(figure: Double(bytes) / Double(count))
    }

    /// Makes and drops one system, so that objects made once for all are not counted.
    private static func warmUp() async {
        let system = SystemLines.make(feedbacks: 1)
        system.start()
        await system.stop()
    }
}
