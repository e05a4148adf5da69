import Foundation
import Testing

/// Runs a command to its end. Returns its exit code and its output.
@discardableResult
func command(_ words: [String], environment: [String: String] = [:]) throws -> (code: Int32, text: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    // The output goes to a file. Another test's command that starts at the same time may hold a copy of a pipe, which
    // would then have no end.
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

/// Runs a command given word by word.
@discardableResult
func command(_ words: String..., environment: [String: String] = [:]) throws -> (code: Int32, text: String) {
    try command(words, environment: environment)
}
