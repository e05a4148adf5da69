import Glibc

/// Checks promises of the library under load, and exits with 1 if one is broken. It has no peer.
@main
enum Load {
    static func main() async {
        let isQuick = CommandLine.arguments.contains("--quick")
        var isSound = true
        // The lines are the result of the program, for people.
        func tell(_ name: String, _ result: (text: String, isSound: Bool)) {
            print("\(name): \(result.text)\(result.isSound ? "" : ": broken")")
            isSound = isSound && result.isSound
        }
        if CommandLine.arguments.contains("--effects") {
            tell("async effect", await EffectCost.run(batches: 500))
            exit(isSound ? 0 : 1)
        }
        tell("eight senders", await EightSenders.run(events: isQuick ? 100_000 : 10_000_000))
        tell("many loops", await ManyLoops.run(loops: isQuick ? 1_000 : 100_000))
        tell("tail latency", await TailLatency.run(rounds: isQuick ? 200 : 5_000))
        tell("async effect", await EffectCost.run(batches: isQuick ? 20 : 500))
        exit(isSound ? 0 : 1)
    }
}
