import MediatorControl
import Testing

/// Names with stars.
struct PartPatternTests {
    @Test(arguments: [
        ("ups*", "ups-1", true), ("ups*", "ups", true), ("ups*", "cups", false), ("*", "", true), ("?", "a", true),
        ("?", "", false), ("a?c", "abc", true), ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-c", false), ("", "", true),
        ("", "a", false), ("**a**", "bab", true), ("door", "door", true), ("door", "doors", false),
        ("*é", "caffé", true),
    ])
    func `a star stands for any letters and a question mark for one`(pattern: String, name: String, matches: Bool) {
        #expect(PartPattern(pattern).matches(.system, name) == matches)
        #expect(PartPattern("bus:\(pattern)").matches(.bus, name) == matches)
        #expect(!PartPattern("bus:\(pattern)").matches(.link, name))
    }

    @Test func `a kind stands in front, and what is none is part of the name`() {
        #expect(PartPattern("link:a").kind == .link && PartPattern("x:a").kind == nil)
        #expect(PartPattern("x:a").matches(.bus, "x:a"))
        #expect(PartPattern("bus:a*").isWild && !PartPattern("bus:a").isWild)
    }

    @Test func `a pattern that could take long does not`() {
        let pattern = PartPattern(String(repeating: "a*", count: 1000) + "b")
        #expect(!pattern.matches(.system, String(repeating: "a", count: 5000)))
    }
}
