import FeedbackKit
import Measuring

/// Systems in a ring, each joined to the next by a bus: a token goes round, and each hop is a state, a bus value and an
/// event.
enum RingLines {
    struct Token: State { let hops: Int }
    struct Pass: Event { let hops: Int }

    static let lines = [
        Line("ring-2", turns: 300_000, concurrently: { await ring($0, size: 2) }),
        Line("ring-100", turns: 300_000, concurrently: { await ring($0, size: 100) }),
        Line("ring-10000", turns: 300_000, concurrently: { await ring($0, size: 10_000) }),
    ]

    private static func ring(_ turns: Int, size: Int) async -> Sample {
        let (started, over) = (Latch(size), Latch())
        let buses = (0..<size).map { _ in PassthroughMediator<Int>() }
        let systems = (0..<size).map { index in
            System {
                InitialState { Token(hops: 0) }
                Feedbacks {}
                Transitions {
                    From(Token.self) {
                        On(Pass.self, transitionTo: Token.self) { event in Token(hops: event.hops) }
                    }
                }
            }
            .attach(to: buses[index]) { hops in Pass(hops: hops + 1) }
            .attach(to: buses[(index + 1) % size]) { (state: any State) -> Int? in
                guard let token = state as? Token, token.hops > 0 else {
                    started.count()
                    return nil
                }
                if token.hops < turns { return token.hops }
                over.count()
                return nil
            }
        }
        for system in systems { system.start() }
        await started.wait()
        let sample = await Sample.timing(turns) {
            buses[0].send(0)
            await over.wait()
        }
        withExtendedLifetime(systems) {}
        return sample
    }
}
