import CLinux
import Glibc
import Synchronization
import SystemPackage

/// What a command reads and writes: its input, and our ends and its ends of the pipes of its output and errors.
///
/// All of them are opened before anything begins, or none. The library that begins commands would open the pipes as well, but
/// ends the process where it runs out of descriptors between the first and the last.
struct CommandFiles {
    /// What it reads from.
    let input: FileDescriptor
    /// Where its output is read from; reading never blocks.
    let output: FileDescriptor
    /// Where what it says of errors is read from; reading never blocks.
    let errors: FileDescriptor
    /// Its own end of its output.
    let outputEnd: FileDescriptor
    /// Its own end of what it says of errors.
    let errorsEnd: FileDescriptor
    private let ours = Ours()

    /// Whether our ends are closed: their numbers may be another file's then.
    private final class Ours: Sendable {
        let areClosed = Atomic(false)
    }

    /// Opens them.
    ///
    /// - Parameter text: what the command reads; nil or empty: nothing.
    init(input text: String?) throws(SensingProblem) {
        input = try Self.input(text)
        do throws(SensingProblem) {
            (output, outputEnd) = try Self.pipe()
        } catch {
            try? input.close()
            throw error
        }
        do throws(SensingProblem) {
            (errors, errorsEnd) = try Self.pipe()
        } catch {
            for descriptor in [input, output, outputEnd] { try? descriptor.close() }
            throw error
        }
    }

    /// Closes our ends, unless that has been done. Nobody reads from them any longer.
    func closeOurs() {
        guard !ours.areClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        try? output.close()
        try? errors.close()
    }

    /// Reads what is there, once.
    ///
    /// Returns how many bytes there were; 0: it is the end; nil: there is nothing yet.
    static func read(_ descriptor: FileDescriptor, _ take: (UnsafeRawBufferPointer) -> Void) -> Int? {
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { buffer in
            do {
                let count = try descriptor.read(into: buffer)
                if count > 0 { take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
                return count
            } catch {
                return error as? Errno == .wouldBlock ? nil : 0
            }
        }
    }

    /// Nothing, or a file in memory that holds the input.
    private static func input(_ text: String?) throws(SensingProblem) -> FileDescriptor {
        guard var text, !text.isEmpty else {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw SensingProblem("cannot open /dev/null for it", Errno(rawValue: errno)) }
            return FileDescriptor(rawValue: descriptor)
        }
        let descriptor = text.withUTF8 { linux_memory($0.baseAddress, $0.count) }
        guard descriptor >= 0 else { throw SensingProblem("cannot hold its input", Errno(rawValue: errno)) }
        return FileDescriptor(rawValue: descriptor)
    }

    /// Both ends of a pipe: ours, which never blocks, and the command's.
    private static func pipe() throws(SensingProblem) -> (FileDescriptor, FileDescriptor) {
        var ends = [Int32](repeating: -1, count: 2)
        guard linux_pipe(&ends) == 0 else {
            throw SensingProblem("cannot open a pipe for its output", Errno(rawValue: errno))
        }
        return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
    }
}
