public import CommonExpression

extension SystemDefinition {
    /// The data of the initial state.
    ///
    /// - Parameter now: The value of the variable `now`.
    /// - Throws: The reason why the data cannot be computed.
    public func initialData(now: Timestamp) throws(EvaluationError) -> Structure {
        var fields: [Value] = []
        fields.reserveCapacity(initialState.fields.count)
        for field in initialState.fields {
            switch field {
            case .data(let data): fields.append(try data.evaluate([.timestamp(now)]))
            case .keep, .remembered:
                preconditionFailure("no state comes before the first, of which a field could be kept")
            }
        }
        return Structure(type: states[initialState.state].type, fields: fields)
    }
}
