/// A way into one case of an enumeration: what a key path is to a property.
///
///     let counter = CasePath<AppEvent, CounterEvent>(
///         embed: AppEvent.counter, extract: { if case .counter(let event) = $0 { event } else { nil } })
public struct CasePath<Root, Value>: Sendable {
    /// Puts a value into the case.
    public let embed: @Sendable (Value) -> Root
    /// The value of the case; `nil`: it is another case.
    public let extract: @Sendable (Root) -> Value?

    /// A path of two functions, of which the second undoes the first.
    @inlinable
    public init(embed: @escaping @Sendable (Value) -> Root, extract: @escaping @Sendable (Root) -> Value?) {
        self.embed = embed
        self.extract = extract
    }

    /// The path that goes on from where this one ends.
    @inlinable
    public func appending<Inner>(path: CasePath<Value, Inner>) -> CasePath<Root, Inner> {
        let (embed, extract) = (embed, extract)
        return CasePath<Root, Inner>(
            embed: { embed(path.embed($0)) }, extract: { extract($0).flatMap(path.extract) })
    }
}

extension CasePath where Root == Value {
    /// The path that leads nowhere else.
    @inlinable
    public static var identity: CasePath { CasePath(embed: { $0 }, extract: { $0 }) }
}
