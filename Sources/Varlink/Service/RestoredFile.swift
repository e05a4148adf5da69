import NIOCore
import Synchronization

extension VarlinkService {
    /// The path of the socket's file; nil where it has none.
    public var path: String? { state.withLock { $0.path?.path } }

    /// Whether the socket's file is no longer at its path, so that nobody can connect any more.
    public var isFileGone: Bool { state.withLock { !$0.isClosing && $0.channel != nil && $0.path?.isThere == false } }

    /// Listens anew at the service's path if its file has been removed. Connections go on; the socket is the service's own
    /// from then on, also where it was inherited, and nobody else keeps it open (``share(_:)``).
    ///
    /// - Parameter mode: the permissions of the new file.
    /// - Returns: whether the file was gone, and is there again.
    /// - Throws: as ``start(at:interfaces:configuration:group:)``; the service is then as it was.
    public func restoreFile(mode: UInt16) async throws -> Bool {
        let gone = state.withLock { state -> SocketPath? in
            guard !state.isClosing, !state.isRestoring, state.channel != nil, let path = state.path, !path.isThere
            else {
                return nil
            }
            state.isRestoring = true
            return path
        }
        guard let gone else { return false }
        defer { state.withLock { $0.isRestoring = false } }
        let new = try gone.bindAnew(mode: mode, backlog: configuration.backlog)
        // From here on the lock is the new one's.
        state.withLock { $0.path = new }
        let channel: any Channel
        do {
            channel = try await listen(new.descriptor)
        } catch {
            new.removeFile()
            throw error
        }
        let (old, isClosed) = state.withLock { state in
            // A service that has stopped listening has released the path already.
            guard state.channel != nil else { return (nil as (any Channel)?, true) }
            state.keepsFile = false
            defer { state.channel = channel }
            return (state.channel, false)
        }
        if isClosed { new.removeFile() }
        try? await (isClosed ? channel : old)?.close().get()
        return !isClosed
    }
}
