/// A place where a rule of the house is broken.
struct Violation: Equatable, CustomStringConvertible {
    /// The file, below the repository's root.
    var file: String
    /// The line, from 1.
    var line: Int
    /// The problem and the advice.
    var message: String

    var description: String { "\(file):\(line): \(message)" }
}

/// The rules to which this repository's files are held.
enum Rules {
    /// Imports of a Swift file of module `module` which the table of layers does not allow.
    static func layering(file: String, module: String, source: SwiftSource) -> [Violation] {
        guard let allowed = Layers.table[module] else {
            return [Violation(file: file, line: 1, message: "\(module) has no row in the table of layers")]
        }
        return Import.all(in: source).flatMap { found -> [Violation] in
            var messages: [String] = []
            if !allowed.union(Layers.everywhere).contains(found.module) {
                messages.append("\(module) may not import \(found.module)")
            }
            for attribute in ["_exported", "testable", "_implementationOnly"] where found.attributes.contains(attribute)
            {
                messages.append("@\(attribute) hides what depends on what; import \(found.module) where it is used")
            }
            return messages.map { Violation(file: file, line: found.line, message: $0) }
        }
    }

    /// Dependencies which a package manifest declares between layers, against the table.
    static func manifest(file: String, text: String) -> [Violation] {
        ManifestTarget.all(in: text).flatMap { target -> [Violation] in
            guard !target.isTest else { return [] }
            guard let allowed = Layers.table[target.name] else {
                return [
                    Violation(
                        file: file, line: target.line, message: "\(target.name) has no row in the table of layers")
                ]
            }
            return target.dependencies.filter { Layers.table[$0] != nil && !allowed.contains($0) }.map {
                Violation(file: file, line: target.line, message: "\(target.name) may not depend on \($0)")
            }
        }
    }

    /// Escapes from the compiler's proofs without a comment on the same line or the three before.
    static func escapes(file: String, source: SwiftSource) -> [Violation] {
        let escapes = ["@unchecked Sendable", "nonisolated(unsafe)", "try!", "unsafeBitCast"]
        return source.code.enumerated().flatMap { number, line -> [Violation] in
            let isExplained = source.hasComment[max(0, number - 3)...number].contains(true)
            return escapes.filter { !isExplained && line.contains($0) }.map {
                Violation(file: file, line: number + 1, message: "\($0) needs a comment that proves it right")
            }
        }
    }

    /// Searches in the text of a message without a comment on the same line or the three before. The text of another
    /// program may have to be searched; an error of this repository has a code or data.
    static func searchedMessages(file: String, source: SwiftSource) -> [Violation] {
        let tokens = source.tokens
        return tokens.indices.compactMap { index in
            let rest = tokens[index...].prefix(4).map { $0.text }.filter { $0 != "?" && $0 != "!" }
            guard rest.count > 2, messages.contains(rest[0]), rest[1] == ".", searches.contains(rest[2]) else {
                return nil
            }
            let number = tokens[index].line
            guard !source.hasComment[max(0, number - 3)...number].contains(true) else { return nil }
            return Violation(
                file: file, line: number + 1,
                message: "\(rest[0]).\(rest[2]) looks into a text; give the error a code, or say whose text it is")
        }
    }

    private static let messages: Set<Substring> = [
        "message", "statement", "description", "advice", "hint", "reason", "problem",
    ]
    private static let searches: Set<Substring> = [
        "contains", "hasPrefix", "hasSuffix", "starts", "firstRange", "ranges", "replacing", "replacingOccurrences",
        "trimmingPrefix", "firstMatch", "wholeMatch", "prefixMatch",
    ]

    /// Prints outside the one module that is to print.
    static func printing(file: String, module: String, source: SwiftSource) -> [Violation] {
        guard module != "MediatorCommands" else { return [] }
        let tokens = source.tokens
        return tokens.indices.dropLast().compactMap { index in
            guard ["print", "debugPrint", "dump"].contains(tokens[index].text), tokens[index + 1].text == "(" else {
                return nil
            }
            if index > 0, tokens[index - 1].text == "func" { return nil }
            // A method of that name is another thing, unless it is the standard library's function by its full name.
            if index > 0, tokens[index - 1].text == "." {
                guard index > 1, tokens[index - 2].text == "Swift" else { return nil }
            }
            return Violation(
                file: file, line: tokens[index].line + 1, message: "a library returns, a program logs: no print")
        }
    }

    /// Waits of a test that block or spin, outside of the module whose waits refuse the concurrency pool.
    static func waiting(file: String, source: SwiftSource) -> [Violation] {
        guard file.hasPrefix("Tests/"), !["Tests/TestSupport/", "Tests/Fuzz/"].contains(where: { file.hasPrefix($0) })
        else { return [] }
        let tokens = source.tokens
        return tokens.indices.compactMap { index in
            guard let name = blockingName(at: index, in: tokens) ?? emptyLoop(at: index, in: tokens) else { return nil }
            return Violation(
                file: file, line: tokens[index].line + 1,
                message: "\(name) may hold a thread of the concurrency pool, which all tests share. Await "
                    + "suspend(while:) or onThreads, or use ThreadSemaphore or blockThread on a thread of your own"
            )
        }
    }

    /// Files with more lines than a file may have, and exceptions that no file needs any longer.
    static func length(
        files: [(file: String, text: String)], exceptions: [String: Int] = FileLengths.exceptions
    ) -> [Violation] {
        let lengths = files.map { file, text in
            (file: file, lines: text.utf8.count { $0 == UInt8(ascii: "\n") } + (text.hasSuffix("\n") ? 0 : 1))
        }
        let tooLong = lengths.compactMap { file, lines -> Violation? in
            let limit = exceptions[file] ?? FileLengths.limit
            guard lines > limit else { return nil }
            return Violation(
                file: file, line: limit + 1,
                message: "\(lines) lines are more than \(limit); move a part with a subject of its own to another file")
        }
        let needed = Set(lengths.filter { $0.lines > FileLengths.limit }.map(\.file))
        let unneeded = exceptions.keys.filter { !needed.contains($0) }.sorted().map {
            Violation(
                file: $0, line: 1,
                message:
                    "it has no more than \(FileLengths.limit) lines, or is gone; remove it from FileLengths.exceptions")
        }
        return tooLong + unneeded
    }

    /// Folders with more files side by side than a folder may have, and exceptions that no folder needs any longer.
    static func folders(files: [String], exceptions: [String: Int] = FolderSizes.exceptions) -> [Violation] {
        let sizes = Dictionary(grouping: files) { $0.split(separator: "/").dropLast().joined(separator: "/") }
            .mapValues(\.count)
        let tooLarge = sizes.sorted { $0.key < $1.key }.compactMap { folder, size -> Violation? in
            let limit = exceptions[folder] ?? FolderSizes.limit
            guard size > limit else { return nil }
            return Violation(
                file: folder, line: 1,
                message: "\(size) files are more than \(limit); put those of one subject into a folder of their own")
        }
        let unneeded = exceptions.keys.filter { sizes[$0, default: 0] <= FolderSizes.limit }.sorted().map {
            Violation(
                file: $0, line: 1,
                message: "it has no more than \(FolderSizes.limit) files; remove it from FolderSizes.exceptions")
        }
        return tooLarge + unneeded
    }

    /// Marks of unfinished work, and paths that exist on one machine only, in a text file of any kind.
    static func leftovers(file: String, text: String) -> [Violation] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap { number, line in
            var messages: [String] = []
            for mark in marks where containsWord(mark, in: line) {
                messages.append("\(mark) belongs into the issue tracker, or done")
            }
            for path in machinePaths where containsAbsolute(path, in: line) {
                messages.append("\(path) is a path of some machine")
            }
            return messages.map { Violation(file: file, line: number + 1, message: $0) }
        }
    }

    // Put together here, so that this file does not break its own rules.
    private static let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
    private static let machinePaths = ["home", "root", "work", "Users"].map { "/\($0)/" }

    private static let blockingNames: Set<Substring> = [
        "DispatchSemaphore", "NSCondition", "concurrentPerform", "nanosleep", "sched_yield", "usleep",
    ]

    private static func blockingName(at index: Int, in tokens: [(text: Substring, line: Int)]) -> Substring? {
        let text = tokens[index].text
        if text == "Thread", tokens[index...].prefix(3).map(\.text) == ["Thread", ".", "sleep"] {
            return "Thread.sleep"
        }
        return blockingNames.contains(text) ? text : nil
    }

    /// The loop that begins with a token and does nothing until its condition changes. One that awaits gives its thread
    /// to others.
    private static func emptyLoop(at index: Int, in tokens: [(text: Substring, line: Int)]) -> Substring? {
        var body = index + 1
        switch tokens[index].text {
        case "repeat": break
        case "while":
            if let before = index > 0 ? tokens[index - 1] : nil {
                // The label of a parameter, or the end of a `repeat` loop, whose body comes first.
                guard !"(,".contains(before.text), before.text != "}" || before.line != tokens[index].line else {
                    return nil
                }
            }
            var depth = 0
            let open = tokens[body...].firstIndex { token in
                if "([".contains(token.text) { depth += 1 }
                if ")]".contains(token.text) { depth -= 1 }
                return token.text == "{" && depth == 0
            }
            guard let open, !tokens[body..<open].contains(where: { $0.text == "await" }) else { return nil }
            body = open
        default: return nil
        }
        return tokens[body...].prefix(2).map(\.text) == ["{", "}"] ? "an empty loop" : nil
    }

    private static func containsWord(_ word: String, in line: Substring) -> Bool {
        line.ranges(of: word).contains { range in
            let isWordBefore =
                range.lowerBound > line.startIndex
                && SwiftSource.isWordCharacter(line[line.index(before: range.lowerBound)])
            let isWordAfter = range.upperBound < line.endIndex && SwiftSource.isWordCharacter(line[range.upperBound])
            return !isWordBefore && !isWordAfter
        }
    }

    /// Whether `path` occurs as the beginning of a path rather than in the middle of one.
    private static func containsAbsolute(_ path: String, in line: Substring) -> Bool {
        line.ranges(of: path).contains { range in
            guard range.lowerBound > line.startIndex else { return true }
            let before = line[line.index(before: range.lowerBound)]
            return !SwiftSource.isWordCharacter(before) && !".-~}/)*".contains(before)
        }
    }
}
