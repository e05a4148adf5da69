import CLinux
import Glibc
package import Varlink

/// The descriptors that the service manager passes to the daemon at its start: sockets that it has opened (socket
/// activation), and those that it kept for the previous daemon (`FileDescriptorStoreMax=`).
package struct Inheritance: Sendable {
    /// The name under which a daemon's own control socket is kept.
    package static let socketName = "control"
    /// The name under which a daemon's state is kept.
    package static let stateName = "state"

    /// The control socket that a socket unit has opened.
    package private(set) var activated: Int32?
    /// The control socket of the daemon before.
    package private(set) var kept: Int32?
    /// The state that the daemon before has left.
    package private(set) var state: Int32?
    /// The names of descriptors that nobody needs.
    package private(set) var unused: [String] = []

    /// Nothing is passed.
    package init() {}

    /// Assigns the descriptors by name, and closes those that nobody needs.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) when it is not clear which socket is the control socket.
    package init(_ passed: ActivationSockets) throws(VarlinkError) {
        activated = try passed.without([Self.socketName, Self.stateName]).socket()?.descriptor
        for socket in passed.sockets where socket.descriptor != activated {
            // Of two with one name the last counts: the manager passes them in the order in which it got them.
            var superfluous: Int32?
            switch socket.name {
            case Self.socketName: (superfluous, kept) = (kept, socket.descriptor)
            case Self.stateName: (superfluous, state) = (state, socket.descriptor)
            default: superfluous = socket.descriptor
            }
            guard let superfluous else { continue }
            unused.append(socket.name)
            close(superfluous)
        }
    }

    /// Takes the descriptors of this process. Call it once, before other threads begin.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) when what the environment says contradicts itself.
    package static func take() throws(VarlinkError) -> Inheritance { try Inheritance(ActivationSockets.take()) }

    /// The path of the control socket that a socket unit has opened.
    package var activatedPath: String? { activated.flatMap { ActivationSockets.path(of: $0) } }
}

/// A file in memory that cannot be changed any more.
package enum SealedFile {
    /// The reason why there is no socket.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        /// The reason in words.
        package let description: String
    }

    // Source: fcntl(2), "File Sealing"; Swift's module of the C library does not have them.
    private static let getSeals: Int32 = 1034
    private static let sealed: Int32 = 0x2 | 0x4 | 0x8

    /// A descriptor of a new one.
    package static func make(_ bytes: [UInt8]) throws(Failure) -> Int32 {
        let descriptor = bytes.withUnsafeBytes { linux_memory($0.baseAddress, $0.count) }
        guard descriptor >= 0 else {
            throw Failure(description: "no file in memory can be made: \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    /// The content of a file from its beginning.
    ///
    /// - Parameter limit: how many bytes there may be.
    package static func read(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        let seals = fcntl(descriptor, getSeals)
        // A file that somebody may still change could be another one at each look.
        guard seals >= 0, seals & sealed == sealed else {
            throw Failure(description: "it is no sealed file in memory")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size <= limit else {
            throw Failure(description: "it has more than \(limit) bytes")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count, off_t(count))
            }
            guard got > 0 else {
                if got < 0, errno == EINTR { continue }
                let reason = got == 0 ? "it ends" : String(cString: strerror(errno))
                throw Failure(description: "it cannot be read: \(reason)")
            }
            count += got
        }
        return bytes
    }
}
