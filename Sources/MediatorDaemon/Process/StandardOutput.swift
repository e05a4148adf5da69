import Glibc

/// Writes answers to standard output. Other than a log line, what was asked for is waited for until it is read, and not
/// lost.
enum StandardOutput {
    /// Writes all of a text, or as much as is read before the reader goes away.
    ///
    /// - Returns: `false` if it could not be written for another reason, such as a full disk; `errno` has the reason.
    static func write(_ text: String) -> Bool {
        // A reader that has gone is an error of write(2), not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
                if count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                } else if count < 0, errno == EAGAIN {
                    // A process that shares the descriptor may have made it non-blocking.
                    var wait = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    poll(&wait, 1, -1)
                } else if count == 0 || errno != EINTR {
                    return count < 0 && errno == EPIPE
                }
            }
            return true
        }
    }
}
