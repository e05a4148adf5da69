/// The file from which Swift reads the command line of a process, see proc(5).
package enum CommandLineFile {
    /// The file.
    package static let path = "/proc/self/cmdline"
    /// The message without it.
    package static let problem = "the command line cannot be read: there is no \(path); mount /proc"
}
