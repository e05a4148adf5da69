import Glibc
import Measuring

/// Measures the lines of this package that are named in the arguments.
@main
enum Benchmarks {
    static let lines =
        LoopLines.lines + SystemLines.lines + RingLines.lines + EffectLines.lines + LifeLines.lines
        + StoreLines.lines

    static func main() {
        exit(Line.run(lines, arguments: CommandLine.arguments))
    }
}
