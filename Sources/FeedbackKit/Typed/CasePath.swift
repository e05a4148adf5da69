/// A path to one case of an enumeration, as a key path is to a property.
///
///     let counter = CasePath<AppEvent, CounterEvent>(
///         embed: AppEvent.counter, extract: { if case .counter(let event) = $0 { event } else { nil } })
public struct CasePath<Root, Value>: Sendable {
    /// Wraps a value in the case.
    public let embed: @Sendable (Value) -> Root
    /// Returns the value of the case, or `nil` for another case.
    public let extract: @Sendable (Root) -> Value?

    /// Creates a path from two functions, of which the second reverses the first.
    @inlinable
    public init(embed: @escaping @Sendable (Value) -> Root, extract: @escaping @Sendable (Root) -> Value?) {
        self.embed = embed
        self.extract = extract
    }

    /// Returns a path that continues this one.
    @inlinable
    public func appending<Inner>(path: CasePath<Value, Inner>) -> CasePath<Root, Inner> {
        let (embed, extract) = (embed, extract)
        return CasePath<Root, Inner>(
            embed: { embed(path.embed($0)) }, extract: { extract($0).flatMap(path.extract) })
    }
}

extension CasePath where Root == Value {
    /// The path from a value to itself.
    @inlinable
    public static var identity: CasePath { CasePath(embed: { $0 }, extract: { $0 }) }
}
