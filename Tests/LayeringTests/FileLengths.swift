/// The limit on the length of a Swift or Python file, and the files that still exceed it.
enum FileLengths {
    /// The limit on the lines of a Swift or Python file.
    static let limit = 400

    /// The files with more lines, each with its own limit. A limit here may only go down: no file is added, and a file
    /// that has become short enough is removed.
    static let exceptions: [String: Int] = [:]
}

/// The limit on the Swift files that lie side by side in a folder, and the folders that still exceed it.
enum FolderSizes {
    /// The limit on the Swift files in a folder. Those in its subfolders count there.
    static let limit = 30

    /// The folders with more files, each with its own limit. A limit here may only go down.
    static let exceptions: [String: Int] = [:]
}
