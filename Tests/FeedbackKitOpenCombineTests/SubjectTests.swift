import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SubjectTests {
    @Test func `a subject and its mediator reach the same subscribers`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Log<String>()
        let plain = mediator.subscribe { seen.add("plain \($0)") }
        let sink = mediator.subject.sink { seen.add("subject \($0)") }
        mediator.send(1)
        mediator.subject.send(2)
        #expect(seen.entries == ["plain 1", "subject 1", "plain 2", "subject 2"])
        plain.cancel()
        sink.cancel()
    }

    @Test func `a subject of a mediator with memory has its value`() {
        let mediator = CurrentValueMediator("a")
        let subject = mediator.subject
        #expect(subject.value == "a")
        subject.value = "b"
        #expect(mediator.value == "b")
    }

    @Test func `a completion concerns the subject alone`() {
        let mediator = PassthroughMediator<Int>()
        let subject = mediator.subject
        let seen = Log<String>()
        let one = subject.sink(receiveCompletion: { seen.add("one \($0)") }, receiveValue: { seen.add("one \($0)") })
        let two = mediator.publisher.sink { seen.add("two \($0)") }
        subject.send(completion: .finished)
        subject.send(1)
        mediator.send(2)
        let late = subject.sink(receiveCompletion: { seen.add("late \($0)") }, receiveValue: { _ in })
        #expect(seen.entries == ["one finished", "two 2", "late finished"])
        #expect(mediator.snapshot.subscribers == 1)
        for subscription in [one, two, late] { subscription.cancel() }
    }

    @Test func `a publisher can be subscribed to a subject`() {
        let subject = PassthroughMediator<Int>().subject
        let seen = Log<Int>()
        let sink = subject.sink { seen.add($0) }
        let feed = [1, 2, 3].publisher.subscribe(subject)
        #expect(seen.entries == [1, 2, 3])
        sink.cancel()
        feed.cancel()
    }
}
