import Foundation
import Testing

/// Runs a command to its end; its exit code and what it printed.
@discardableResult
func command(_ words: [String], environment: [String: String] = [:]) throws -> (code: Int32, text: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    // A file: of a pipe a command that another test starts just then may hold a copy, and its end would not come.
    let file = FileManager.default.temporaryDirectory.appending(path: "mediatord-\(UUID().uuidString)")
    #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    defer { try? FileManager.default.removeItem(at: file) }
    let output = try FileHandle(forWritingTo: file)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: try Data(contentsOf: file), as: UTF8.self))
}

/// The same for words one by one.
@discardableResult
func command(_ words: String..., environment: [String: String] = [:]) throws -> (code: Int32, text: String) {
    try command(words, environment: environment)
}
