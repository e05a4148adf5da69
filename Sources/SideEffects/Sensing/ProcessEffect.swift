public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import SystemPackage

/// `process`: tells when a process runs, and when it has ended: one that a file names by its number, or one that has a name.
///
/// Its end is told by the system. That another one with the name has begun the system tells nobody without rights, so as
/// long as none runs it looks again and again; a file with a number is watched as by ``PathEffect``.
public struct ProcessEffect: EffectImplementation {
    /// How long it waits after something has happened before it looks: what happens faster is seen as one.
    public let settle: Duration
    /// How long it waits before it looks again at what it could not see.
    public let retryInterval: Duration

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .process }

    /// The effect; it looks so long after something has happened, and so long after it could not see.
    public init(settle: Duration = .milliseconds(100), retryInterval: Duration = .seconds(10)) {
        self.settle = settle
        self.retryInterval = retryInterval
    }

    /// Follows until it is cancelled; reports first how things are, as `onRunning` or `onEnded`, then what changes.
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
                // One that runs is not given up for none: its file may go before it does.
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
            if let problem { complaints.add(problem, context) } else { complaints.clear() }
            do {
                // As long as one runs, only what the system tells matters.
                let limit = problem != nil ? retryInterval : current == nil ? every : nil
                try await wait([current?.descriptor, source.descriptor], limit, source, context)
                if let process = current, process.hasEnded {
                    current = nil
                    context.report("onEnded", of: .process, [.int(Int64(process.number))])
                }
                try await context.clock.sleep(for: settle)
                source.drain()
            } catch let failure as Errno {
                // Only what the system cannot do for want of memory or descriptors.
                complaints.add("cannot watch a process: \(failure)", context)
                guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
            } catch {
                return
            }
        }
    }

    /// Returns when the first of the descriptors can be read, something has happened to the source, or the limit has
    /// passed.
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

/// Where a process is looked for.
protocol ProcessSource: Sendable {
    /// Can be read when something may have changed.
    var descriptor: Int32? { get }

    /// The process, if one runs, and what could not be seen or watched.
    func look() async throws -> (process: ProcessHandle?, problem: String?)

    /// Takes in what the system has told. Whether any of it matters.
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
