public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import SystemPackage

/// The side effect `pressure`: measures the share of time that work waits for the processor, memory or disks, as the
/// kernel reports it (PSI).
public struct PressureEffect: EffectImplementation {
    /// The default difference between the upper and the lower limit; half of the upper limit if that is small.
    static let defaultGap = 5.0
    /// The bytes that are read from a file, which has two lines.
    private static let limit = 1_024

    private let directory: String

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .pressure }

    /// Creates the side effect with the directory of the kernel's files.
    public init(directory: String = "/proc/pressure") {
        self.directory = directory
    }

    /// Measures until it is cancelled.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let resource = arguments["of"]?.text else { return }
        var limits: (above: Double, below: Double)?
        if case .double(let above)? = arguments["above"] {
            var lower = max(above - Self.defaultGap, above / 2)
            if case .double(let below)? = arguments["below"] { lower = below }
            limits = (above, lower)
        }
        let gauge = Gauge(schema: schema, every: arguments["every"]?.swiftDuration ?? .seconds(10), limits: limits)
        let path = "\(directory)/\(resource)"
        await gauge.run(in: context) {
            let text = try await Blocking.call { Self.read(path) }.get()
            guard let pressure = Self.averages(in: text) else {
                throw SensingProblem("\(path) does not have the format of pressure files: \(text.prefix(100))")
            }
            return (pressure[0], [.string(resource)] + pressure.map { .double($0) })
        }
    }

    /// Returns the text of one of the kernel's files.
    private static func read(_ path: String) -> Result<String, SensingProblem> {
        do throws(Errno) {
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard file >= 0 else { throw Errno(rawValue: errno) }
            defer { close(file) }
            var bytes = [UInt8](repeating: 0, count: limit)
            let count = Glibc.read(file, &bytes, limit)
            guard count >= 0 else { throw Errno(rawValue: errno) }
            return .success(String(decoding: bytes[..<count], as: UTF8.self))
        } catch {
            let isMissing = [.noSuchFileOrDirectory, .notSupportedOnSocket, .notSupported].contains(error)
            return .failure(
                SensingProblem(
                    "cannot read \(path)", error,
                    hint: isMissing
                        ? "the kernel does not measure pressure; start it with psi=1 (CONFIG_PSI, Linux 4.20 or later)"
                        : nil))
        }
    }

    /// Returns the six averages in a file, in percent: those of `some`, then those of `full`. Older kernels have no
    /// `full` line for the processor, which gives 0. Returns `nil` for another format.
    ///
    /// The lines are `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same for `full` (the kernel's
    /// `Documentation/accounting/psi.rst`).
    private static func averages(in text: String) -> [Double]? {
        var result = [Double](repeating: 0, count: 6)
        var hasSome = false
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let kind = words.first, kind == "some" || kind == "full" else { continue }
            for (index, name) in ["avg10=", "avg60=", "avg300="].enumerated() {
                guard let word = words.first(where: { $0.hasPrefix(name) }),
                    let value = Double(word.dropFirst(name.count)), value.isFinite
                else { return nil }
                result[index + (kind == "full" ? 3 : 0)] = value
            }
            if kind == "some" { hasSome = true }
        }
        return hasSome ? result : nil
    }
}
