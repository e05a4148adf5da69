import FeedbackKitTesting
import Foundation
import Synchronization
import Testing

private struct Player: Sendable {
    var name = "Ada"
    var score = 3
    var tags: Set<String> = ["b", "a"]
    var items = [1, 2, 3]
    var stock = ["x": 1, "y": 2]
    var friend: Friend? = Friend(name: "Bo", level: .gold(points: 7, since: 1999))
}

private struct Friend: Sendable {
    var name: String
    var level: Level
}

private enum Level: Sendable {
    case none
    case silver(Int)
    case gold(points: Int, since: Int)
}

private final class Node {
    var value: Int
    var next: Node?
    init(_ value: Int) { self.value = value }
}

private class Animal { let legs = 4 }
private final class Dog: Animal { let name = "Rex" }

private struct Nested {
    var inner: [Any]
}

private struct Opaque: Equatable {
    let id: Int
    static func == (left: Opaque, right: Opaque) -> Bool { false }
}

private func player(_ change: (inout Player) -> Void) -> Player {
    var player = Player()
    change(&player)
    return player
}

private let changes: [(Player, String)] = [
    (
        player { $0.score = 4 },
        """
              … 1 unchanged
        -     score: 3
        +     score: 4
              … 4 unchanged
        """
    ),
    (
        player { $0.name = "Ida" },
        """
        -     name: "Ada"
        +     name: "Ida"
              … 5 unchanged
        """
    ),
    (
        player { $0.tags = ["a", "c"] },
        """
              … 2 unchanged
              tags: Set([
                  … 1 unchanged
        -         "b"
        +         "c"
              ])
              … 3 unchanged
        """
    ),
    (
        player { $0.items = [1, 9, 2, 3] },
        """
              … 3 unchanged
              items: [
                  … 1 unchanged
        +         [1]: 9
                  … 2 unchanged
              ]
              … 2 unchanged
        """
    ),
    (
        player { $0.items = [1, 5, 3] },
        """
              … 3 unchanged
              items: [
                  … 1 unchanged
        -         [1]: 2
        +         [1]: 5
                  … 1 unchanged
              ]
              … 2 unchanged
        """
    ),
    (
        player { $0.stock = ["y": 3, "z": 4] },
        """
              … 4 unchanged
              stock: [
        -         "x": 1
        -         "y": 2
        +         "y": 3
        +         "z": 4
              ]
              … 1 unchanged
        """
    ),
    (
        player { $0.friend = nil },
        """
              … 5 unchanged
        -     friend: Friend(name: "Bo", level: Level.gold(points: 7, since: 1999))
        +     friend: nil
        """
    ),
    (
        player { $0.friend?.level = .gold(points: 8, since: 1999) },
        """
              … 5 unchanged
              friend: Friend(
                  … 1 unchanged
                  level: Level.gold(
        -             points: 7
        +             points: 8
                      … 1 unchanged
                  )
              )
        """
    ),
    (
        player { $0.friend?.level = .silver(1) },
        """
              … 5 unchanged
              friend: Friend(
                  … 1 unchanged
        -         level: Level.gold(points: 7, since: 1999)
        +         level: Level.silver(1)
              )
        """
    ),
    (
        player { $0.friend?.level = .none },
        """
              … 5 unchanged
              friend: Friend(
                  … 1 unchanged
        -         level: Level.gold(points: 7, since: 1999)
        +         level: Level.none
              )
        """
    ),
]

@Suite struct `A difference` {
    @Test func `is empty where nothing differs`() {
        #expect(difference(from: Player(), to: Player()) == "")
        #expect(difference(from: [1: "a", 2: "b"], to: [2: "b", 1: "a"]) == "")
        #expect(difference(from: Int?.none, to: Int?.none) == "")
    }

    @Test(arguments: changes)
    private func `names the parts that differ and counts the others`(new: Player, expected: String) {
        #expect(difference(from: Player(), to: new) == "  Player(\n\(expected)\n  )")
    }

    @Test func `of plain values, types and optionals is two lines`() {
        #expect(difference(from: 1, to: 2) == "- 1\n+ 2")
        #expect(difference(from: "a\n", to: "b") == "- \"a\\n\"\n+ \"b\"")
        #expect(difference(from: Int?.some(1), to: nil) == "- 1\n+ nil")
        #expect(
            difference(from: Friend(name: "", level: .none) as Any, to: 3)
                == "- Friend(name: \"\", level: Level.none)\n+ 3")
        #expect(difference(from: (1, b: "x"), to: (2, b: "x")) == "  (\n-     1\n+     2\n      … 1 unchanged\n  )")
        #expect(difference(from: Duration.seconds(1), to: .milliseconds(1)) == "- 1.0 seconds\n+ 0.001 seconds")
        #expect(difference(from: Level.silver(1), to: Level.silver(2)) == "  Level.silver(\n-     1\n+     2\n  )")
        #expect(difference(from: [Int](), to: [1]) == "- []\n+ [1]")
        #expect(difference(from: [String: Int](), to: ["a": 1]) == "- [:]\n+ [\"a\": 1]")
    }

    @Test func `of objects reads their superclasses and ends at cycles`() {
        let (old, new) = (Node(1), Node(1))
        old.next = old
        new.next = Node(2)
        new.next?.next = new
        #expect(
            difference(from: old, to: new)
                == "  Node(\n      … 1 unchanged\n-     next: Node(again)\n"
                + "+     next: Node(value: 2, next: Node(again))\n  )"
        )
        #expect(describe(Dog()) == "Dog(legs: 4, name: \"Rex\")")
    }

    private indirect enum Chain: Sendable { case end, link(Chain) }
    private indirect enum EqualChain: Equatable { case end, link(EqualChain) }

    @Test func `a value that is nested two thousand deep is compared as far as it is read, and the text says so`() {
        var (short, long) = (Chain.end, Chain.link(.end))
        var (one, same) = (EqualChain.end, EqualChain.end)
        for _ in 0..<2_000 {
            (short, long) = (.link(short), .link(long))
            (one, same) = (.link(one), .link(same))
        }
        #expect(
            difference(from: short, to: long)
                == "  … the same as far as it is compared: 24 levels deep, 20000 parts wide")
        #expect(difference(from: one, to: same).isEmpty)
        #expect(!difference(from: one, to: .link(same)).isEmpty)
        #expect(describe(long).count <= DifferenceLimit.characters + 2)
        withExtendedLifetime((short, long)) {}
    }

    @Test func `is bounded in lines, in characters and in depth`() {
        let many = difference(from: Array(0..<10_000), to: Array(1..<10_001))
        let lines = many.split(separator: "\n")
        #expect(lines.count == DifferenceLimit.lines + 1)
        #expect(lines.last == "  … 19902 more lines")
        let long = String(repeating: "a", count: 1_000_000)
        let text = difference(from: long + "x" + long, to: long + "y" + long)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= DifferenceLimit.characters + 4 })
        #expect(text.contains("ax") && text.contains("ay"))
        var deep: Any = 1
        for _ in 0..<10_000 { deep = Nested(inner: [deep]) }
        #expect(describe(deep).count <= DifferenceLimit.characters + 2)
        #expect(describe(deep).hasPrefix("Nested(inner: [Nested(inner: ["))
        let (first, last) = (Node(0), Node(-1))
        var end = first
        for value in 1...100_000 {
            let next = Node(value)
            end.next = next
            end = next
        }
        end.next = last
        #expect(difference(from: first, to: last).split(separator: "\n").count < 200)
        // Unlinked one by one, because releasing a long chain recursively would overflow the stack.
        var node: Node? = first
        while let current = node { (node, current.next) = (current.next, nil) }
    }

    @Test func `knows values without fields by their description`() {
        final class Locked: Sendable {
            let values = Mutex([1])
        }
        actor Counter {}
        #expect(describe(Locked()) == "Locked(values: ())", "reflection does not see what cannot be copied")
        #expect(describe(Counter()) == "Counter()")
        #expect(describe({ 1 }) == "(Function)")
        #expect(describe(AnyHashable(3)) == "3")
        #expect(describe(Double.nan) == "nan")
        #expect(describe(Int.self) == "Int.self")
        #expect(describe(Character("x")) == "\"x\"")
        #expect(describe(Date(timeIntervalSince1970: 0)) == "1970-01-01 00:00:00 +0000")
        #expect(describe(1..<3) == "Range<Int>(lowerBound: 1, upperBound: 3)")
        #expect(describe(()) == "()")
        #expect(describe([1: ["a": nil as Int?]]) == "[1: [\"a\": nil]]")
    }

    @Test func `long values get a line for each part`() {
        let old = [String: [Int]]()
        let new = ["a": Array(0..<40)]
        #expect(difference(from: old, to: new).hasPrefix("- [:]\n+ [\n+     \"a\": [\n+         0\n+         1\n"))
    }

    @Test func `equality is == if the type has it, and otherwise equal reflections`() {
        #expect(areEqual(1, 1) && !areEqual(1, 2) && !areEqual(1, "1"))
        #expect(!areEqual(Opaque(id: 1), Opaque(id: 1)))
        #expect(areEqual(Player(), Player()) && !areEqual(Player(), player { $0.score = 0 }))
        #expect(!areEqual(Level.silver(1), Level.silver(2)) && areEqual(Level.none, Level.none))
        let (early, late) = (Date(timeIntervalSince1970: 0.1), Date(timeIntervalSince1970: 0.2))
        #expect(areEqual([early] as [Any], [early] as [Any]) && !areEqual([early] as [Any], [late] as [Any]))
        #expect(
            difference(from: [early], to: [late])
                == "  [\n-     [0]: 1970-01-01 00:00:00 +0000\n"
                + "+     [0]: 1970-01-01 00:00:00 +0000 (looks the same, but == says that it differs)\n  ]")
        #expect(!areEqual([Duration.seconds(1 << 60)] as [Any], [.seconds(1 << 60) + Duration.nanoseconds(1)] as [Any]))
        #expect(!areEqual([Data([1])] as [Any], [Data([2])] as [Any]))
        #expect(!areEqual(Level.none, Friend(name: "", level: .none)))
    }
}
