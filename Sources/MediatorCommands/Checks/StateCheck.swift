import Glibc
import MediatorConfiguration
import StrictJSON

/// The stored states that a configuration keeps, and those that it does not.
struct StateCheck {
    /// The use of a stored state at the next start.
    enum Outcome: String {
        case kept, converted, lost, unused
    }

    struct Part {
        /// `system` or `bus`.
        let kind: String
        let name: String
        var outcome: Outcome
        /// The differences of a converted state, or the reason why another one is not used, as a clause.
        var reason: String?
    }

    /// The largest file of states, in bytes.
    static let largest = 256 << 20

    /// The parts, in the order of the file.
    private(set) var parts: [Part] = []

    /// Checks the states that `mediatorctl store export` has printed.
    ///
    /// - Throws: A ``CommandError`` if the text is not of that form.
    init(_ text: [UInt8], for graph: Graph) throws(CommandError) {
        let systems = Dictionary(graph.systems.map { ($0.name, $0) }) { first, _ in first }
        let renamed = Dictionary(graph.systems.compactMap { system in system.was.map { ($0, system) } }) { first, _ in
            first
        }
        let buses = Dictionary(graph.buses.map { ($0.name, $0) }) { first, _ in first }
        var states: [(state: JSONValue, kind: String, name: String)] = []
        for (number, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            guard let state = try? JSONValue(parsing: line.span), state.objectValue != nil,
                let kind = state["part"]?.stringValue ?? (state["damage"] != nil ? "part" : nil),
                ["system", "bus"].contains(kind) || state["damage"] != nil
            else {
                throw CommandError(
                    .usage, "line \(number + 1) of the states is not a stored state",
                    advice: "The file is what `mediatorctl store export` prints.")
            }
            states.append((state, kind, state["name"]?.stringValue ?? ""))
        }
        let rows = Dictionary(states.filter { $0.kind == "system" }.map { ($0.name, $0.state) }) { first, _ in first }
        for (state, kind, name) in states {
            let result: (outcome: Outcome, reason: String?)
            switch kind {
            case "system":
                let heir = systems[name] == nil ? renamed[name] : nil
                if let heir, let own = rows[heir.name], Self.epoch(own) >= Self.epoch(state) {
                    result = (.unused, "the store has a later one of '\(heir.name)'")
                } else if let was = systems[name]?.was, systems[was] == nil, let earlier = rows[was],
                    Self.epoch(earlier) > Self.epoch(state)
                {
                    result = (.unused, "the store has a later one of '\(was)'")
                } else {
                    result = Self.system(state, systems[name] ?? heir, newName: heir?.name)
                }
            case "bus": result = Self.bus(state, buses[name])
            default: result = (.lost, "it is damaged")
            }
            parts.append(Part(kind: kind, name: name, outcome: result.outcome, reason: result.reason))
        }
    }

    /// The number of the incarnation that left a state. A later one has a higher number.
    private static func epoch(_ state: JSONValue) -> UInt64 {
        state["content"]?["epoch"]?.stringValue.flatMap { UInt64($0) } ?? 0
    }

    private static func system(
        _ state: JSONValue, _ definition: SystemDefinition?, newName: String?
    ) -> (Outcome, String?) {
        guard let definition else { return (.unused, "the configuration has no such system") }
        guard definition.persistence == .state else { return (.unused, "it does not persist") }
        guard state["ended"]?.boolValue != true else { return (.lost, "it had ended because of a fault") }
        do throws(PartCoder.Flaw) {
            guard let content = state["content"]?.objectValue else { return (.lost, "it is damaged") }
            let saved = try SavedSystem(members: content)
            do throws(StateFit.Misfit) {
                let fit = try StateFit(saved.state, in: definition).text
                let changes = [newName.map { "its name is '\($0)' now" }, fit].compactMap(\.self)
                return changes.isEmpty ? (.kept, nil) : (.converted, changes.joined(separator: ", "))
            } catch {
                return (.lost, error.text("was"))
            }
        } catch {
            return (.lost, error.description)
        }
    }

    private static func bus(_ state: JSONValue, _ definition: BusDefinition?) -> (Outcome, String?) {
        guard let definition else { return (.unused, "the configuration has no such bus") }
        guard definition.isPersisted else { return (.unused, "it does not persist") }
        do throws(PartCoder.Flaw) {
            guard let content = state["content"]?.objectValue else { return (.lost, "it is damaged") }
            let isKept = try SavedBus(members: content).type == definition.valueType
            return isKept ? (.kept, nil) : (.lost, "its values have another type now")
        } catch {
            return (.lost, error.description)
        }
    }

    /// The number of states that the next start does not use although their parts persist.
    var losses: Int { parts.count { $0.outcome == .lost } }

    /// A line for each state that is not kept as it is, and a summary. The flag marks warnings.
    var lines: [(isWarning: Bool, text: String)] {
        var lines = parts.filter { $0.outcome != .kept }.map { part -> (isWarning: Bool, text: String) in
            let what =
                switch part.outcome {
                case .kept: "is kept"
                case .converted: "is converted"
                case .lost: "is lost"
                case .unused: "is not used"
                }
            return (
                part.outcome == .lost,
                "the stored state of the \(part.kind) '\(part.name)' \(what)" + (part.reason.map { ": \($0)" } ?? "")
            )
        }
        let counts = [Outcome.kept, .converted, .lost, .unused].map { outcome in
            "\(parts.count { $0.outcome == outcome }) \(outcome == .unused ? "not used" : outcome.rawValue)"
        }
        lines.append((losses > 0, "stored states: \(counts.joined(separator: ", "))"))
        return lines
    }

    /// The states for programs.
    var json: JSONValue {
        .array(
            parts.map { part in
                var members: JSONObject = [
                    "part": .string(part.kind), "name": .string(part.name), "outcome": .string(part.outcome.rawValue),
                ]
                if let reason = part.reason { members["reason"] = .string(reason) }
                return .object(members)
            })
    }
}

extension CommandEnvironment {
    /// Returns the text of stored states, from a file or, for `-`, from standard input.
    func readStates(_ path: String) throws(CommandError) -> [UInt8] {
        let limit = StateCheck.largest + 1
        let text: [UInt8]
        if path == ConfigurationCompiler.standardInputPath {
            text = readInput(limit)
        } else {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else {
                throw CommandError(.usage, "cannot read '\(path)': \(String(cString: strerror(errno)))")
            }
            defer { close(file) }
            var status = stat()
            guard fstat(file, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
                throw CommandError(.usage, "cannot read '\(path)': it is a directory")
            }
            text = Self.read(file, atMost: limit)
        }
        guard text.count < limit else {
            throw CommandError(.usage, "the states are larger than \(StateCheck.largest >> 20) MiB")
        }
        guard !text.isEmpty else {
            throw CommandError(
                .usage, "there are no states to check",
                advice: "The file is what `mediatorctl store export` prints; it is empty if nothing is stored.")
        }
        return text
    }
}
