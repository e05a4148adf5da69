import MediatorControl
import Varlink

/// `mediatorctl complete`, which the scripts of ``CompletionVerb`` call: whatever fails, it says nothing.
///
/// - `complete -- WORD…`: the words behind the name of the program. The last one is completed.
/// - `complete --line TEXT`: the same as a line of bash, up to the cursor, the name of the program included.
enum Completion {
    static func run(_ arguments: [String], in environment: CommandEnvironment) async -> CommandStatus {
        var words: [String]
        switch arguments.first {
        case "--line": words = Array(Self.words(ofLine: arguments.dropFirst().first ?? "").dropFirst())
        case "--": words = Array(arguments.dropFirst())
        default: return .usage
        }
        if words.isEmpty { words = [""] }
        let complete = words
        let (limit, clock) = (environment.completionLimit, environment.clock)
        let proposal = await withTaskGroup(of: Completer.Proposal?.self) { group in
            group.addTask {
                guard let info = try? CommandLineInfo.current() else { return nil }
                let completer = Completer(info: info, source: Daemon(words: complete, environment: environment))
                return try? await completer.proposal(for: complete)
            }
            group.addTask {
                try? await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        try? environment.write(proposal?.text ?? "")
        return .success
    }

    /// The daemon that the words name, else the usual one. One on another machine is not asked, since ssh may ask back.
    private struct Daemon: Completer.Source {
        let words: [String]
        let environment: CommandEnvironment

        private func ask<Answer: Sendable>(
            _ body: @Sendable (ControlClient) async throws -> Answer
        ) async throws -> Answer {
            let isElsewhere =
                words.contains { $0 == "--host" || $0.hasPrefix("--host=") }
                || environment.variable(Place.hostVariable)?.isEmpty == false
            let socket = named("--socket")
            guard !isElsewhere || socket != nil else { throw CommandError(.noConnection, "it is elsewhere") }
            var configuration = ClientConfiguration()
            configuration.connectLimit = environment.completionLimit
            configuration.callLimit = environment.completionLimit
            let client = try await ControlClient.connect(
                toPath: socket ?? environment.socket(isQuiet: true),
                configuration: configuration)
            do {
                let answer = try await body(client)
                await client.close()
                return answer
            } catch {
                await client.close()
                throw error
            }
        }

        /// The value of an option among the words.
        private func named(_ option: String) -> String? {
            for (index, word) in words.dropLast().enumerated() {
                if word.hasPrefix("\(option)=") { return String(word.dropFirst(option.count + 1)) }
                if word == option, index + 1 < words.count - 1 { return words[index + 1] }
            }
            return nil
        }

        func systems() async throws -> [SystemSummary] { try await ask { try await $0.listSystems() } }

        func buses() async throws -> [BusSummary] { try await ask { try await $0.listBuses() } }

        func links() async throws -> [LinkSummary] { try await ask { try await $0.listLinks() } }

        func system(_ name: String) async throws -> SystemDescription {
            try await ask { try await $0.describeSystem(name) }
        }

        func bus(_ name: String) async throws -> BusDescription { try await ask { try await $0.describeBus(name) } }

        func stored() async throws -> [StoredPart] { try await ask { try await $0.describeStore().parts } }

        func detached() async throws -> [String] {
            try await ask { try await $0.listChanges().filter { $0.kind == .detached }.map(\.link) }
        }
    }

    /// The words of a line as a shell reads them: quotes and backslashes go; the last word may be unfinished or empty.
    static func words(ofLine line: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isInWord = false
        var quote: Unicode.Scalar?
        var isEscaped = false
        for letter in line.unicodeScalars {
            if isEscaped {
                word.unicodeScalars.append(letter)
                isEscaped = false
            } else if letter == "\\", quote != "'" {
                (isEscaped, isInWord) = (true, true)
            } else if let open = quote {
                if letter == open { quote = nil } else { word.unicodeScalars.append(letter) }
            } else if letter == "'" || letter == "\"" {
                (quote, isInWord) = (letter, true)
            } else if letter == " " || letter == "\t" {
                if isInWord { words.append(word) }
                (word, isInWord) = ("", false)
            } else {
                word.unicodeScalars.append(letter)
                isInWord = true
            }
        }
        return words + [word]
    }
}
