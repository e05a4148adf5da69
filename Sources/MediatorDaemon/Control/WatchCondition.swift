import CommonExpression
import MediatorConfiguration
package import MediatorControl
package import MediatorHost
import Synchronization

/// The patterns and the condition of a watch, and their meaning for each part.
///
/// The condition is checked against the types of each part: of a system, against those of each of its states. A state or
/// part whose types do not fit is left out; if that is so of all, the condition is wrong.
///
/// Checking takes time for each type there is: not to be done on an event loop.
package struct WatchCondition: Sendable {
    /// The limit on patterns.
    static let mostPatterns = 64
    /// The limit on the length of a pattern, in bytes.
    package static let longestPattern = 256
    /// It is evaluated where replies are made, for all clients, so it must be quick, and there may be as many as
    /// connections, so it must be small.
    static let limits = Limits(
        sourceLength: 4096, nesting: 32, nodes: 500, cost: 5000, valueSize: 65_536, patternMemory: 32_768, patterns: 4)

    package let patterns: [PartPattern]
    private let fitting: Fitting?

    /// Reads patterns and condition.
    package init(_ parameters: WatchParameters) throws(ControlError) {
        guard parameters.patterns.count <= Self.mostPatterns else {
            throw .invalidValue(
                path: "patterns", expected: "at most \(Self.mostPatterns)",
                message: "there are \(parameters.patterns.count) patterns, more than \(Self.mostPatterns)")
        }
        if let long = parameters.patterns.first(where: { $0.utf8.count > Self.longestPattern }) {
            throw .invalidValue(
                path: "patterns", expected: "at most \(Self.longestPattern) bytes each",
                message: "a pattern has \(long.utf8.count) bytes, more than \(Self.longestPattern)")
        }
        patterns = parameters.patterns.map { PartPattern($0) }
        guard let text = parameters.condition else {
            fitting = nil
            return
        }
        do throws(Problems) {
            fitting = Fitting(try Expression(parsing: text, limits: Self.limits))
        } catch {
            throw Self.wrong(error, in: text)
        }
    }

    /// Returns the filter for a part; nil if it is not watched.
    ///
    /// - Parameter pace: receives the steps that each evaluation takes.
    package func filter(of part: WatchedPart, pace: UserPace? = nil) -> Host.WatchFilter? {
        guard isChosen(part) else { return nil }
        guard let fitting else { return { _ in true } }
        return try? Self.filter(of: part, fitting, pace)
    }

    /// The limit on the steps of one evaluation.
    var cost: Int { fitting == nil ? 0 : Self.limits.cost }

    /// Whether a part is meant.
    func isChosen(_ part: WatchedPart) -> Bool {
        let kind = PartKind(part.kind)
        return patterns.isEmpty || patterns.contains { $0.matches(kind, part.name) }
    }

    /// Checks that the condition fits at least one watched part, if there are any.
    package func check(_ parts: [WatchedPart]) throws(ControlError) {
        guard let fitting else { return }
        var nearest: (part: WatchedPart, problems: Problems)?
        var count = 0
        for part in parts where isChosen(part) {
            do throws(Problems) {
                _ = try Self.filter(of: part, fitting)
                return
            } catch {
                count += 1
                if error.isNearer(than: nearest?.problems) { nearest = (part, error) }
            }
        }
        guard let nearest else { return }
        let more = count > 1 ? ", nor any of \(count - 1) other parts" : ""
        throw Self.wrong(
            nearest.problems, in: fitting.source,
            prefix: "it does not fit the \(nearest.part.kind.rawValue) '\(nearest.part.name)'\(more): ")
    }

    /// The number of checks of the condition against a type.
    package var checkCount: Int { fitting?.checkCount ?? 0 }

    private static func wrong(_ problems: Problems, in text: String, prefix: String = "") -> ControlError {
        let message = problems.problems.first.map { problem in
            "'where': \(prefix)column \(problem.position(in: text).column): \(problem.message)"
        }
        return .invalidValue(path: "where", expected: "bool", message: message ?? "\(problems)")
    }

    // MARK: Programs

    private static func filter(
        of part: WatchedPart, _ fitting: Fitting, _ pace: UserPace? = nil
    ) throws(Problems) -> Host.WatchFilter {
        let name = Value.string(part.name)
        switch part {
        case .system(let system):
            var programs: [Int: Program] = [:]
            var failure: Problems?
            for (index, state) in system.states.enumerated() {
                do throws(Problems) {
                    programs[index] = try fitting.program(.state, .structure(state.type))
                } catch {
                    if error.isNearer(than: failure) { failure = error }
                }
            }
            if programs.isEmpty, let failure { throw failure }
            let names = system.states.map { Value.string($0.name) }
            let own = programs
            return { happening in
                guard case .state(let state) = happening, let program = own[state.index] else { return false }
                let event = Value.string(state.event.map(system.eventName) ?? "")
                return holds(program, [state.data, names[state.index], name, event], pace)
            }
        case .bus(let bus):
            let program = try fitting.program(.value, bus.valueType)
            return { happening in
                guard case .value(let value) = happening else { return false }
                return holds(program, [value, .string(""), name, .string("")], pace)
            }
        case .link(_, let type, _):
            let program = try fitting.program(.value, type ?? .dyn)
            return { happening in
                guard case .fired(let value, let event) = happening else { return false }
                return holds(program, [value, .string(""), name, .string(event ?? "")], pace)
            }
        }
    }

    /// A condition that cannot be evaluated is false.
    private static func holds(_ program: Program, _ values: [Value], _ pace: UserPace?) -> Bool {
        var variables = Variables(values)
        defer { pace?.spend(variables.steps) }
        do {
            return try program.evaluateBool(&variables)
        } catch {
            return false
        }
    }
}

extension Problems {
    /// Returns whether a problem is closer to the meaning of the condition than another one. A name that does not exist
    /// is farthest from it.
    fileprivate func isNearer(than other: Problems?) -> Bool { other.map { distance < $0.distance } ?? true }

    private var distance: Int {
        problems.map { problem in
            switch problem.code {
            case .unknownVariable: 3
            case .unknownField: problem.suggestion == nil ? 2 : 1
            default: 0
            }
        }.max() ?? 0
    }
}

/// An expression and the types which it is known to fit or not.
///
/// However many types there are, there is one program for states and one for values, which leaves the type open: a program
/// for each would have patterns of its own.
private final class Fitting: Sendable {
    /// The subject of a condition.
    enum Subject: String {
        case state, value
    }

    private struct Key: Hashable {
        let subject: Subject
        let type: ValueType
    }

    private struct State {
        /// The problem of the expression with a type; nil if it fits.
        var known: [Key: Problems?] = [:]
        var checkCount = 0
    }

    /// The limit on types that are remembered. Others are checked each time.
    private static let mostTypes = 256

    private let expression: Expression
    private let programs: [Subject: Program]
    private let state = Mutex(State())

    init(_ expression: Expression) {
        self.expression = expression
        var programs: [Subject: Program] = [:]
        for subject in [Subject.state, .value] { programs[subject] = try? Self.check(expression, subject, .dyn) }
        self.programs = programs
    }

    var source: String { expression.source }
    var checkCount: Int { state.withLock { $0.checkCount } }

    /// The program for a type which the expression fits.
    func program(_ subject: Subject, _ type: ValueType) throws(Problems) -> Program {
        let key = Key(subject: subject, type: type)
        var own: Program?
        let problems: Problems?
        if let known = state.withLock({ $0.known[key] }) {
            problems = known
        } else {
            do throws(Problems) {
                own = try Self.check(expression, subject, type)
                problems = nil
            } catch {
                problems = error
            }
            let found = problems
            state.withLock { state in
                state.checkCount += 1
                if state.known.count < Self.mostTypes { state.known.updateValue(found, forKey: key) }
            }
        }
        if let problems { throw problems }
        if let program = programs[subject] ?? own { return program }
        // An expression that fits a type fits an open one, too.
        return try Self.check(expression, subject, type)
    }

    private static func check(
        _ expression: Expression, _ subject: Subject, _ type: ValueType
    ) throws(Problems) -> Program {
        // A field that a part does not have is declared under a name that nobody can write.
        let variables: [Environment.Variable] = [
            .init(name: subject.rawValue, type: type),
            .init(name: subject == .state ? "stateName" : " ", type: .string),
            .init(name: "name", type: .string), .init(name: "eventName", type: .string),
        ]
        return try expression.checked(
            in: Environment(variables: variables, limits: WatchCondition.limits), expecting: .bool)
    }
}

extension PartKind {
    init(_ kind: WatchedPart.Kind) {
        switch kind {
        case .system: self = .system
        case .bus: self = .bus
        case .link: self = .link
        }
    }
}

extension WatchReply {
    init(_ watched: WatchedHappening) {
        self.init(
            time: "\(watched.time)", topic: .began, kind: watched.part.map { PartKind($0.kind) },
            name: watched.part?.name, replayed: watched.isReplayed, dropped: watched.dropped)
        switch watched.happening {
        case .state(let state):
            topic = .state
            guard case .system(let system)? = watched.part else { return }
            self.state = SystemState(state, of: system)
            previous = state.nameOfPrevious
            let taken = state.event
            event = taken.map(system.eventName)
            eventData = taken.map { ValueCoding.fields(of: $0.data) }
        case .value(let value):
            topic = .value
            self.value = ValueCoding.json(value)
        case .fired(let value, let event):
            topic = .fired
            self.event = event
            if event == nil { self.value = ValueCoding.json(value) } else { eventData = ValueCoding.fields(of: value) }
        case .began: topic = .began
        case .ended: topic = .ended
        case .leftOut(let count):
            topic = .leftOut
            leftOut = count
        }
    }
}

extension WatchRate {
    /// The limit on changes in a period.
    private static let mostCount = 1_000_000
    /// The longest period.
    private static let longestPeriod = Duration.seconds(86_400)

    /// The requested rate; nil if there is none.
    init?(_ parameters: WatchParameters) throws(ControlError) {
        guard let count = parameters.limit else {
            guard parameters.period == nil else {
                throw .invalidValue(path: "limit", expected: "int", message: "a period needs a limit")
            }
            return nil
        }
        guard (1...Self.mostCount).contains(count) else {
            throw .invalidValue(
                path: "limit", expected: "1 to \(Self.mostCount)",
                message: "limit must be from 1 to \(Self.mostCount), not \(count)")
        }
        let text = parameters.period ?? "1s"
        guard let period = TimeSpan(text: text)?.swiftDuration, period >= .milliseconds(10),
            period <= Self.longestPeriod
        else {
            throw .invalidValue(
                path: "period", expected: "10ms to 24h", message: "period must be from 10ms to 24h, not '\(text)'")
        }
        self.init(count: count, period: period)
    }
}
