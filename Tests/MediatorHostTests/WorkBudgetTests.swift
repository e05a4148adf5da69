import FeedbackKitTesting
import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A budget of work` {
    @Test func `gives what there is in the order of asking, and the last one may take too much`() {
        var bucket = WorkBucket(rate: 1_000, at: .zero)
        #expect(bucket.take(900, at: .zero) == nil)
        #expect(bucket.take(300, at: .zero) == nil)
        // 200 are missing.
        #expect((1...3).map { _ in bucket.take(100, at: .milliseconds(10)) } == [1, 2, 3])
        #expect(bucket.admit(at: .milliseconds(200)) == [])
        #expect(bucket.admit(at: .milliseconds(201)) == [1])
        // A new caller is behind those that wait, even if budget is left.
        #expect(bucket.take(1, at: .milliseconds(301)) == 4)
        #expect(bucket.admit(at: .milliseconds(302)) == [2])
        bucket.leave(3)
        #expect(!bucket.isWaiting(3) && bucket.isWaiting(4))
        bucket.giveBack(500)
        #expect(bucket.admit(at: .milliseconds(302)) == [4])
    }

    @Test func `is never fuller than full, and loses nothing to looks in between`() {
        var bucket = WorkBucket(rate: 10, at: .zero)
        for millisecond in 1...5_000 { #expect(bucket.admit(at: .milliseconds(millisecond)) == []) }
        bucket.giveBack(1_000)
        #expect(bucket.take(20, at: .seconds(5)) == nil)
        #expect(bucket.take(1, at: .seconds(5)) == 1)
        var admitted: [Int] = []
        for millisecond in 5_001...6_200 where bucket.admit(at: .milliseconds(millisecond)) == [1] {
            admitted.append(millisecond)
        }
        // 10 are missing and one is needed: eleven tenths of a second.
        #expect(admitted == [6_100])
    }

    @Test func `has who asks for more wait until there is something, or until they wait no longer`() async {
        let clock = ManualClock()
        let budget = WorkBudget(rate: 1_000, time: .manual(clock))
        await budget.take(1_000)
        let patient = Task { await budget.take(10) }
        await clock.nextDeadline(in: .milliseconds(20))
        #expect(budget.isUsedUp)
        clock.advance(by: .milliseconds(20))
        #expect(await patient.value)
        #expect(!budget.isUsedUp)
        await budget.take(1_000)
        let impatient = Task { await budget.take(10) }
        await clock.nextDeadline(in: .milliseconds(20))
        impatient.cancel()
        #expect(await !impatient.value)
        #expect(!budget.isUsedUp)
    }

    @Test func `has the next one wait for work that turned out to be more`() {
        var bucket = WorkBucket(rate: 1_000, at: .zero)
        #expect(bucket.take(100, at: .zero) == nil)
        bucket.charge(1_400)
        #expect(bucket.take(1, at: .zero) == 1)
        #expect(bucket.admit(at: .milliseconds(500)) == [])
        #expect(bucket.admit(at: .milliseconds(501)) == [1])
    }
}
