import Glibc
import Measuring
import ObservedLoop
import UnobservedLoop

/// Measures three loops in slices of a few milliseconds that take turns: one without an observer, one with an observer
/// that does nothing, and one of a library without the hooks. Other load on the machine hits all three.
@main
enum ObserverCost {
    static func main() {
        let loops: [(name: String, turn: @Sendable (Int) -> Void)] = [
            ("observer-nobody", ObservedLoop.make(isObserved: false)),
            ("observer-removed", UnobservedLoop.make(isObserved: false)),
            ("observer-idle", ObservedLoop.make(isObserved: true)),
        ]
        let slices = CommandLine.arguments.contains("--quick") ? 30 : 200
        let turns = 50_000
        for (_, turn) in loops { turn(turns) }
        var figures = [[Double]](repeating: [], count: loops.count)
        for slice in 0..<slices {
            // Each is first as often as the others.
            for place in 0..<loops.count {
                let index = (slice + place) % loops.count
                figures[index].append(Sample.timing(turns) { loops[index].turn(turns) }.figure)
            }
        }
        for (loop, figures) in zip(loops, figures) {
            // The slices that nothing else disturbed: nine of ten are slower.
            print("\(loop.name)\t\(figures.sorted()[figures.count * 9 / 10])\t0")
        }
    }
}
