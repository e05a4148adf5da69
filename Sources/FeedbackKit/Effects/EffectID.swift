/// Names a side effect, so that it can be cancelled or replaced from anywhere in its loop.
public struct EffectID: Hashable, Sendable {
    private let base: any Hashable & Sendable
    /// Computed once, so that the loop can look a name up under its lock without calling the caller's code.
    @usableFromInline let hash: Int

    /// A name of any type; equal values of one type are the same name.
    public init(_ base: some Hashable & Sendable) {
        self.base = base
        hash = base.hashValue
    }

    /// Whether both are the same name.
    public static func == (left: EffectID, right: EffectID) -> Bool {
        // Integers of different types are equal as `AnyHashable`; here each type has names of its own.
        left.hash == right.hash && type(of: left.base) == type(of: right.base)
            && AnyHashable(left.base) == AnyHashable(right.base)
    }

    /// Feeds the name into the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}
