import FoundationEssentials

/// The files of this repository.
struct Repository {
    /// Files larger than this, in bytes, are not text written by hand.
    private static let sizeLimit = 1 << 20
    private static let ignoredDirectories: Set = [".build", ".git", ".swiftpm", ".venv", "__pycache__", "node_modules"]
    // In a further work tree, `.git` is a file with the path of the repository.
    private static let ignoredFiles: Set = ["Package.resolved", ".git"]

    /// The Swift files of this repository, read once for all tests.
    static let swift = Result {
        try Repository().textFiles().filter { $0.file.hasSuffix(".swift") }
            .map { SwiftFile(file: $0.file, text: $0.text) }
    }

    let root: String

    /// The repository that holds this source file.
    init(file: String = #filePath) {
        root = file.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    }

    /// All text files below a directory, with their paths below the root.
    func textFiles(below directory: String = "") throws -> [(file: String, text: String)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(directory)").sorted()
        return try names.flatMap { name -> [(file: String, text: String)] in
            let file = directory.isEmpty ? name : "\(directory)/\(name)"
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/\(file)")
            switch attributes[.type] as? FileAttributeType {
            case .typeDirectory:
                return Self.ignoredDirectories.contains(name) || name.hasPrefix(".build")
                    ? [] : try textFiles(below: file)
            case .typeRegular:
                guard let size = attributes[.size] as? UInt64, size <= Self.sizeLimit,
                    !Self.ignoredFiles.contains(name),
                    let text = try? String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
                else { return [] }
                return [(file, text)]
            default:
                return []
            }
        }
    }
}

/// A Swift file of this repository.
struct SwiftFile {
    let file: String
    let text: String
    let source: SwiftSource

    init(file: String, text: String) {
        self.file = file
        self.text = text
        source = SwiftSource(text)
    }

    /// The module to which a file below `Sources` belongs: the folder it is in.
    var module: String? {
        let parts = file.split(separator: "/")
        return parts[0] == "Sources" ? String(parts[1]) : nil
    }
}
