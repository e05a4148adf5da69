import DequeModule

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Limits how deep the turns of loops nest on the sender's thread: a chain of any length needs a constant stack.
///
/// A turn that shows a state to feedbacks enters one level, since these may send to other loops. Below the limit nothing
/// else happens. Beyond it the turn is put off until the outermost turn of the thread has shown its own state.
@usableFromInline
enum SendersStack {
    /// The maximum number of turns within each other on one thread.
    static let limit = 64

    /// The turns of a thread.
    private final class Nest {
        var depth = 0
        var putOff = Deque<() -> Void>()
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { pointer in
            let pointer: UnsafeMutableRawPointer? = pointer
            if let pointer { Unmanaged<Nest>.fromOpaque(pointer).release() }
        }
        precondition(code == 0, "no key for what a thread keeps: error \(code)")
        return key
    }()

    private static var nest: Nest {
        if let known = pthread_getspecific(key) { return Unmanaged<Nest>.fromOpaque(known).takeUnretainedValue() }
        let new = Nest()
        // Released by the key's destructor, at the end of the thread.
        pthread_setspecific(key, Unmanaged.passRetained(new).toOpaque())
        return new
    }

    /// Enters a level. Returns `false` at the limit: then the turn must be put off.
    @usableFromInline
    static func enter() -> Bool {
        let nest = nest
        guard nest.depth < limit else { return false }
        nest.depth += 1
        return true
    }

    /// Puts a turn off. Only on a thread that is at the limit.
    @usableFromInline
    static func putOff(_ turn: @escaping () -> Void) {
        nest.putOff.append(turn)
    }

    /// Leaves a level. The outermost one runs the turns that were put off.
    @usableFromInline
    static func leave() {
        let nest = nest
        guard nest.depth == 1 else {
            nest.depth -= 1
            return
        }
        while let turn = nest.putOff.popFirst() { turn() }
        nest.depth = 0
    }
}
