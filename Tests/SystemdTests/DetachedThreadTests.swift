import Glibc
import Systemd
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Room for threads` {
    @Test func `is found out without leaving a thread or a descriptor behind`() {
        func descriptors() -> Int { (0..<1_024).count { fcntl($0, F_GETFD) >= 0 } }
        // Other tests run beside this one, so only many forgotten descriptors show.
        let before = descriptors()
        for _ in 0..<100 { #expect(DetachedThread.hasRoom(for: 3)) }
        #expect(descriptors() < before + 100)
        #expect(DetachedThread.hasRoom(for: 0))
    }
}
