import Glibc

/// Notice of what changes at a path and on the way to it.
package struct PathChanges: Sendable {
    private let watch: PathWatch

    /// Watches a path from the first look on. A path that does not begin at the root begins at the working directory.
    package init(_ path: String) throws {
        var whole = path
        if !path.hasPrefix("/"), let directory = getcwd(nil, 0) {
            whole = "\(String(cString: directory))/\(path)"
            free(directory)
        }
        watch = try PathWatch(whole, contentLimit: 0)
    }

    /// Walks the path and watches each part of it. Later changes end the next wait.
    ///
    /// - Throws: when a part cannot be watched, or the task is cancelled.
    package func look() async throws {
        let look = try await Blocking.call { watch.look() }
        if let problem = look.problem { throw SensingProblem(problem) }
    }

    /// Returns when something has changed since the last look.
    package func next() async throws {
        repeat { try await Poller.shared.readable(watch.descriptor) } while !watch.drain()
    }
}
