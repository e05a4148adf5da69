/// Names a side effect, so that it can be cancelled or replaced from anywhere in its loop.
public struct EffectID: Hashable, Sendable {
    private let base: any Hashable & Sendable

    /// A name of any type; equal values of one type are the same name. It is compared and hashed while the loop's lock is
    /// held, so neither may touch the loop.
    public init(_ base: some Hashable & Sendable) {
        self.base = base
    }

    /// Whether both are the same name.
    public static func == (left: EffectID, right: EffectID) -> Bool {
        // Integers of different types are equal as `AnyHashable`; here each type has names of its own.
        type(of: left.base) == type(of: right.base) && AnyHashable(left.base) == AnyHashable(right.base)
    }

    /// Feeds the name into the hasher.
    public func hash(into hasher: inout Hasher) {
        base.hash(into: &hasher)
    }
}
