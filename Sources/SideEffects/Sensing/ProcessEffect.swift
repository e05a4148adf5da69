public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import SystemPackage

/// The side effect `process`: reports when a process starts and ends. The process is given by a file with its number or
/// by its name.
///
/// The system reports the end of a process, but reports a start only to privileged processes. While no process with the
/// name runs, the effect therefore polls. A file with a number is watched like ``PathEffect`` does.
public struct ProcessEffect: EffectImplementation {
    /// The time between an event and the next look. Faster changes are seen as one.
    public let settle: Duration
    /// The time before it looks again after an error.
    public let retryInterval: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .process }

    /// Creates the side effect with its time after an event and its time after an error.
    public init(settle: Duration = .milliseconds(100), retryInterval: Duration = .seconds(10)) {
        self.settle = settle
        self.retryInterval = retryInterval
    }

    /// Follows the process until it is cancelled. Reports the current state as `onRunning` or `onEnded`, then each
    /// change.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        let every = arguments["every"]?.swiftDuration ?? .seconds(10)
        var complaints = Complaints()
        if let path = arguments["pidFile"]?.text {
            await follow(PIDFile(path, context.memory), every, &complaints, context)
        } else if let command = arguments["command"]?.text {
            await follow(ProcessName(command), every, &complaints, context)
        }
    }

    private func follow(
        _ source: some ProcessSource, _ every: Duration, _ complaints: inout Complaints, _ context: EffectContext
    ) async {
        var current: ProcessHandle?
        var isFirst = true
        while !Task.isCancelled {
            var problem: String?
            do {
                let look = try await source.look()
                try Task.checkCancellation()
                problem = look.problem
                // A running process stays current although its file may disappear first.
                if let found = look.process, current.map({ !$0.isSame(as: found) }) ?? true {
                    current = found
                    context.report(
                        "onRunning", of: .process,
                        [.int(Int64(found.number)), .string(found.command), .timestamp(found.started)])
                    isFirst = false
                } else if isFirst, problem == nil {
                    context.report("onEnded", of: .process, [.int(0)])
                    isFirst = false
                }
            } catch let failure as SensingProblem {
                problem = failure.message
            } catch {
                return
            }
            if let problem { complaints.add(problem, context) } else { complaints.clear(context) }
            do {
                // While a process runs, only the system's report matters.
                let limit = problem != nil ? retryInterval : current == nil ? every : nil
                try await wait([current?.descriptor, source.descriptor], limit, source, context)
                if let process = current, process.hasEnded {
                    current = nil
                    context.report("onEnded", of: .process, [.int(Int64(process.number))])
                }
                try await context.clock.sleep(for: settle)
                source.drain()
            } catch let failure as Errno {
                // Only a lack of memory or descriptors causes this error.
                complaints.add("cannot watch a process: \(failure)", context)
                guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
            } catch {
                return
            }
        }
    }

    /// Waits until the first of the descriptors is readable, the source has changed, or the limit has passed.
    private func wait(
        _ descriptors: [Int32?], _ limit: Duration?, _ source: some ProcessSource, _ context: EffectContext
    ) async throws {
        let (process, notices) = (descriptors[0], descriptors[1])
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let process { group.addTask { try await Poller.shared.readable(process) } }
            if let notices {
                group.addTask {
                    repeat { try await Poller.shared.readable(notices) } while !source.drain()
                }
            }
            if let limit { group.addTask { try await context.clock.sleep(for: limit) } }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }
}

/// A source of a process.
protocol ProcessSource: Sendable {
    /// A descriptor that becomes readable when something may have changed.
    var descriptor: Int32? { get }

    /// Returns the process, if one runs, and the reason why something could not be read or watched.
    func look() async throws -> (process: ProcessHandle?, problem: String?)

    /// Reads reported events. Returns whether one of them is relevant.
    @discardableResult
    func drain() -> Bool
}

/// The oldest process that has a name.
private struct ProcessName: ProcessSource {
    let command: String
    var descriptor: Int32? { nil }

    init(_ command: String) {
        self.command = command
    }

    func look() async throws -> (process: ProcessHandle?, problem: String?) {
        try await Blocking.call { [command] in
            do throws(SensingProblem) {
                return (try ProcessHandle.find(command), nil)
            } catch {
                return (nil, error.message)
            }
        }
    }

    func drain() -> Bool { false }
}
