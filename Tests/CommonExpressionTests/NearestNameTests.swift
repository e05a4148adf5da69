import CommonExpression
import Testing

@Suite("Nearest names")
struct NearestNameTests {
    @Test(arguments: [
        ("failurs", "failures"), ("Failures", "failures"), ("faliures", "failures"), ("sinec", "since"),
        ("nam", "name"), ("on", "no"),
    ])
    func `a near name is found`(name: String, nearest: String) {
        #expect(nearestName(to: name, among: ["failures", "since", "name", "load", "no"]) == nearest)
    }

    @Test(arguments: ["x", "fail", "", "load", "completely", "zz"])
    func `a far name, an exact one and an empty one find nothing`(name: String) {
        #expect(nearestName(to: name, among: ["failures", "since", "name", "load", "b"]) == nil)
    }

    @Test func `of equally near names, the alphabetically first is taken`() {
        #expect(nearestName(to: "cat", among: ["hat", "bat", "rat"]) == "bat")
        #expect(nearestName(to: "cat", among: ["rat", "bat", "hat"]) == "bat")
    }

    @Test func `very long names have no nearest name`() {
        let name = String(repeating: "a", count: 100_000)
        #expect(nearestName(to: name, among: [name + "b"]) == nil)
        #expect(nearestName(to: "aaaa", among: [name]) == nil)
    }
}
