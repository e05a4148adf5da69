import FoundationEssentials

/// The files of this repository.
struct Repository {
    /// Files larger than this, in bytes, are not text written by hand.
    private static let sizeLimit = 1 << 20
    private static let ignoredDirectories: Set = [".build", ".git", ".swiftpm", ".venv", "__pycache__", "node_modules"]
    private static let ignoredFiles: Set = ["Package.resolved"]

    let root: String

    /// The repository that holds this source file.
    init(file: String = #filePath) {
        root = file.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    }

    /// The Swift files below `Sources`, with the module each belongs to: the folder it is in.
    func sources() throws -> [(file: String, module: String, text: String)] {
        try textFiles(below: "Sources").filter { $0.file.hasSuffix(".swift") }.map { file, text in
            (file, String(file.split(separator: "/")[1]), text)
        }
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
