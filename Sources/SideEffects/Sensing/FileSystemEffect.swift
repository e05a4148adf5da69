public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import SystemPackage

/// The side effect `filesystem`: measures how full a file system is, like `df`.
public struct FileSystemEffect: EffectImplementation {
    /// The default difference between the upper and the lower limit.
    static let defaultGap: Int64 = 5

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .filesystem }

    /// Creates the side effect.
    public init() {}

    /// Measures until it is cancelled.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let path = arguments["path"]?.text else { return }
        var limits: (above: Double, below: Double)?
        if case .int(let above)? = arguments["above"] {
            var lower = max(1, above - Self.defaultGap)
            if case .int(let below)? = arguments["below"] { lower = below }
            limits = (Double(above), Double(lower))
        }
        let gauge = Gauge(schema: schema, every: arguments["every"]?.swiftDuration ?? .seconds(30), limits: limits)
        await gauge.run(in: context) {
            let usage = try await Blocking.call { Usage.measure(path) }.get()
            return (
                Double(usage.percent),
                [
                    .string(path), .int(usage.percent), .int(usage.freeBytes), .int(usage.usedBytes),
                    .int(usage.totalBytes), .int(usage.freeInodesPercent),
                ]
            )
        }
    }

    /// The usage of a file system (statvfs(3)).
    private struct Usage: Sendable {
        var percent: Int64
        var freeBytes: Int64
        var usedBytes: Int64
        var totalBytes: Int64
        var freeInodesPercent: Int64

        /// Reads the usage from the system. May block.
        static func measure(_ path: String) -> Result<Usage, SensingProblem> {
            var status = statvfs()
            while statvfs(path, &status) != 0 {
                let failure = Errno(rawValue: errno)
                guard failure == .interrupted else {
                    return .failure(SensingProblem("cannot measure the file system of \(path)", failure))
                }
            }
            let unit = UInt64(status.f_frsize)
            let (total, free) = (UInt64(status.f_blocks), UInt64(status.f_bfree))
            // Blocks reserved for the superuser count neither as used nor as free, as in df(1).
            let available = UInt64(status.f_bavail)
            let used = total - min(total, free)
            let (files, freeFiles) = (UInt64(status.f_files), UInt64(status.f_favail))
            return .success(
                Usage(
                    percent: share(used, of: used + min(available, .max - used), roundsUp: true) ?? 0,
                    freeBytes: bytes(available, unit), usedBytes: bytes(used, unit), totalBytes: bytes(total, unit),
                    freeInodesPercent: share(freeFiles, of: files, roundsUp: false) ?? 100))
        }

        /// Returns a share in percent; `nil` if the whole is 0.
        private static func share(_ part: UInt64, of whole: UInt64, roundsUp: Bool) -> Int64? {
            guard whole > 0 else { return nil }
            let product = min(part, whole).multipliedFullWidth(by: 100)
            let (quotient, remainder) = whole.dividingFullWidth(product)
            return Int64(quotient) + (roundsUp && remainder > 0 ? 1 : 0)
        }

        private static func bytes(_ blocks: UInt64, _ unit: UInt64) -> Int64 {
            let (bytes, isTooMany) = blocks.multipliedReportingOverflow(by: unit)
            return isTooMany ? .max : Int64(clamping: bytes)
        }
    }
}
