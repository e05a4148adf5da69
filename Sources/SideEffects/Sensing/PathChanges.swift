import Glibc

/// Reports changes at a path and at the directories that lead to it.
package struct PathChanges: Sendable {
    private let watch: PathWatch

    /// Watches a path from the first look on. A relative path begins at the working directory.
    package init(_ path: String) throws {
        var whole = path
        if !path.hasPrefix("/"), let directory = getcwd(nil, 0) {
            whole = "\(String(cString: directory))/\(path)"
            free(directory)
        }
        watch = try PathWatch(whole, contentLimit: 0)
    }

    /// Walks the path and watches each part. Later changes end the next wait.
    ///
    /// - Throws: An error if a part cannot be watched, or `CancellationError`.
    package func look() async throws {
        let look = try await Blocking.call { watch.look() }
        if let problem = look.problem { throw SensingProblem(problem) }
    }

    /// Waits until something has changed since the last look.
    package func next() async throws {
        repeat { try await Poller.shared.readable(watch.descriptor) } while !watch.drain()
    }
}
