/// The exit code of the daemon.
public enum ExitStatus: Int32, Sendable, Hashable {
    /// It was asked to stop, and everything has ended.
    case stopped = 0
    /// The configuration is not valid; nothing was started.
    case invalidConfiguration = 1
    /// The command line is not understood.
    case usage = 2
    /// It was asked to stop, and something had not ended when the limit had passed.
    case stoppedByForce = 3
    /// The control socket, or the address of the metrics, cannot be served, or another process uses the store; nothing was started.
    case noControlSocket = 4
    /// A part of the daemon failed, which is a mistake of the program.
    case failed = 5
    /// A system has asked for it, on account of its faults, or the disk of the store fails.
    case escalated = 6
    /// The system cannot create the threads that the daemon needs; nothing was started.
    case noThreads = 7
}
