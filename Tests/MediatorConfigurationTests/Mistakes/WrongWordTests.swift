import Foundation
import MediatorConfiguration
import Testing

@Suite struct `One wrong word` {
    private static func shipped() throws -> [ConfigurationFile] {
        let directory = Snapshots.repository.appending(path: "Config")
        return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "yaml" }.sorted { $0.path < $1.path }
            .map { ConfigurationFile(path: $0.lastPathComponent, contents: Array(try Data(contentsOf: $0))) }
    }

    /// The places of the words, outside of comments.
    private static func words(_ text: [UInt8]) -> [Range<Int>] {
        var words: [Range<Int>] = []
        var begin: Int?
        var isComment = false
        for (index, byte) in text.enumerated() {
            if byte == UInt8(ascii: "\n") { isComment = false }
            if byte == UInt8(ascii: "#") { isComment = true }
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            if isLetter, !isComment {
                begin = begin ?? index
            } else if let first = begin {
                words.append(first..<index)
                begin = nil
            }
        }
        return words
    }

    /// Warnings would report the same mistake again, at another place.
    @Test func `is told as what it is, and gives no warning elsewhere`() throws {
        let files = try Self.shipped()
        #expect(ConfigurationCompiler.compile(files: files).diagnostics.isEmpty)
        var random = Random(state: 17)
        var errors = 0
        for _ in 0..<800 {
            let file = Int.random(in: files.indices, using: &random)
            guard let word = Self.words(files[file].contents).randomElement(using: &random) else { continue }
            var changed = files
            let line = changed[file].contents[..<word.lowerBound].lastIndex(of: UInt8(ascii: "\n")) ?? 0
            switch Int.random(in: 0..<6, using: &random) {
            case 0: changed[file].contents.insert(UInt8(ascii: "x"), at: word.upperBound)
            case 1: changed[file].contents.remove(at: word.lowerBound)
            case 2: changed[file].contents.remove(at: word.upperBound - 1)
            case 3: changed[file].contents.removeSubrange(word)
            case 4: changed[file].contents.replaceSubrange(word, with: Array("[]".utf8))
            default: changed[file].contents.removeSubrange(line..<word.upperBound)
            }
            let found = ConfigurationCompiler.compile(files: changed).diagnostics
            guard found.contains(where: { $0.severity == .error }) else { continue }
            errors += 1
            let said = found.map { $0.rendered() }.joined(separator: "\n")
            #expect(!found.contains { $0.severity == .warning }, "\(said)")
        }
        #expect(errors > 200)
    }
}
