import CommonExpression
import MediatorHost
import Testing

/// The kept part of long and of secret results.
struct ExcerptTests {
    @Test func `What is short is kept whole`() {
        let value = Value.list([.string("a"), .int(1), .map([.string("k"): .bytes([1, 2])])])
        #expect(Excerpt.of(value) == value)
        let text = String(repeating: "ö", count: Excerpt.longest / 2)
        #expect(Excerpt.of(.string(text)) == .string(text))
    }

    @Test func `Of what is long the beginning is kept, in all its parts together`() {
        let long = Value.string(String(repeating: "é", count: 1_000_000))
        guard case .list(let list) = Excerpt.of(.list([.string("a"), long, long])) else {
            Issue.record("no list")
            return
        }
        #expect(list[0] == .string("a"))
        // One byte is left over, which is not enough for a letter of two.
        #expect(list[1] == .string(String(repeating: "é", count: (Excerpt.longest - 1) / 2) + "…"))
        #expect(list[2] == .string("…"))
        #expect(Excerpt.of(.bytes(Array(repeating: 7, count: 10_000))) == .bytes(Array(repeating: 7, count: 2048)))
        let deep = Value.list((0..<100).map { .list([.int($0), .int($0)]) })
        guard case .list(let kept) = Excerpt.of(deep) else { return }
        #expect(kept.count < Excerpt.mostElements && kept.count > 20)
    }
}
