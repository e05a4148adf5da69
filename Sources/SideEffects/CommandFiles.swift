import CLinux
import Glibc
import Synchronization
import SystemPackage

/// The files of a command: its input, and both ends of the pipes for its output and errors.
///
/// Either all of them open before the command starts, or none. The library that starts commands could open the pipes,
/// but it ends the process if descriptors run out between the first and the last.
struct CommandFiles {
    /// The input of the command.
    let input: FileDescriptor
    /// The daemon's end of the output pipe. Reading never blocks.
    let output: FileDescriptor
    /// The daemon's end of the error pipe. Reading never blocks.
    let errors: FileDescriptor
    /// The command's end of the output pipe.
    let outputEnd: FileDescriptor
    /// The command's end of the error pipe.
    let errorsEnd: FileDescriptor
    private let ours = Ours()

    /// Indicates whether the daemon's ends are closed. Another file may then have their numbers.
    private final class Ours: Sendable {
        let areClosed = Atomic(false)
    }

    /// Opens the files.
    ///
    /// - Parameter text: The input of the command; nil or empty for none.
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

    /// Closes the daemon's ends once. Nothing may read from them any more.
    func closeOurs() {
        guard !ours.areClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        try? output.close()
        try? errors.close()
    }

    /// Reads available bytes once. Returns their number, 0 at the end, or nil if nothing is available yet.
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

    /// Opens /dev/null, or a file in memory with the input.
    private static func input(_ text: String?) throws(SensingProblem) -> FileDescriptor {
        guard var text, !text.isEmpty else {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw SensingProblem("cannot open /dev/null for it", Errno(rawValue: errno)) }
            return FileDescriptor(rawValue: descriptor)
        }
        let descriptor = text.withUTF8 { linux_memory($0.baseAddress, $0.count) }
        guard descriptor >= 0 else { throw SensingProblem("cannot store its input", Errno(rawValue: errno)) }
        return FileDescriptor(rawValue: descriptor)
    }

    /// Opens a pipe. The daemon's end never blocks.
    private static func pipe() throws(SensingProblem) -> (FileDescriptor, FileDescriptor) {
        var ends = [Int32](repeating: -1, count: 2)
        guard linux_pipe(&ends) == 0 else {
            throw SensingProblem("cannot open a pipe for its output", Errno(rawValue: errno))
        }
        return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
    }
}
