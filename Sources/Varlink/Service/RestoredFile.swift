import NIOCore
import Synchronization

extension VarlinkService {
    /// The path of the socket's file; nil if it has none.
    public var path: String? { state.withLock { $0.path?.path } }

    /// A Boolean value that indicates whether the socket's file was removed, so that nobody can connect.
    public var isFileGone: Bool { state.withLock { !$0.isClosing && $0.channel != nil && $0.path?.isInPlace == false } }

    /// Listens again at the service's path if its file was removed. Connections continue. From then on the service owns
    /// the socket, even if it was inherited, and nobody else keeps it open (``share(_:)``).
    ///
    /// - Parameter mode: The permissions of the new file.
    /// - Returns: Whether the file was missing and is restored.
    /// - Throws: The errors of ``start(at:interfaces:configuration:group:)``. The service is then unchanged.
    public func restoreFile(mode: UInt16) async throws -> Bool {
        let gone = state.withLock { state -> SocketPath? in
            guard !state.isClosing, state.channel != nil, let path = state.path, !path.isInPlace else { return nil }
            // While it is nil, nobody else releases the path.
            state.path = nil
            return path
        }
        guard let gone else { return false }
        let new: SocketPath
        do {
            new = try gone.rebind(mode: mode, backlog: configuration.backlog)
        } catch {
            putBack(gone)
            throw error
        }
        let channel: any Channel
        do {
            channel = try await listen(new.descriptor)
        } catch {
            // The channel has closed the new descriptor. The lock is the new one's; the old socket still listens.
            new.removeFile()
            putBack(new.listening(on: gone.descriptor))
            throw error
        }
        let (old, isClosed) = state.withLock { state in
            guard let old = state.channel else { return (channel, true) }
            state.keepsFile = false
            state.path = new
            state.channel = channel
            return (old, false)
        }
        if isClosed { new.release(keepingFile: false) }
        // Clients may have connected to the old socket just before.
        await settleAccepted()
        try? await old.close().get()
        return !isClosed
    }

    /// Keeps a path whose file is gone, or releases it if the service has stopped listening by now.
    private func putBack(_ path: SocketPath) {
        let isClosed = state.withLock { state in
            if state.channel != nil { state.path = path }
            return state.channel == nil
        }
        if isClosed { path.release(keepingFile: false) }
    }
}
