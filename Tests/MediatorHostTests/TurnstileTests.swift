import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A turnstile` {
    @Test func `lets who is cancelled go at once, though it is not their turn`() async {
        let turnstile = Turnstile()
        #expect(await turnstile.enter() == .entered)
        let leaving = Task { await turnstile.enter() }
        while turnstile.waiting < 1 { await Task.yield() }
        leaving.cancel()
        #expect(await leaving.value == .cancelled)
        #expect(turnstile.waiting == 0)
        let next = Task { await turnstile.enter() }
        while turnstile.waiting < 1 { await Task.yield() }
        turnstile.leave()
        #expect(await next.value == .entered)
    }

    @Test func `turns away who comes when as many wait as may`() async {
        let turnstile = Turnstile(limit: 2)
        #expect(await turnstile.enter() == .entered)
        var waiting: [Task<Turnstile.Entry, Never>] = []
        for number in 0..<2 {
            waiting.append(Task { await turnstile.enter() })
            while turnstile.waiting <= number { await Task.yield() }
        }
        #expect(await turnstile.enter() == .full)
        let exempt = Task { await turnstile.enter(isLimited: false) }
        while turnstile.waiting < 3 { await Task.yield() }
        // In the order in which they came.
        for task in waiting + [exempt] {
            turnstile.leave()
            #expect(await task.value == .entered)
        }
        turnstile.leave()
        #expect(await turnstile.enter() == .entered)
    }
}
