package import CommonExpression

extension Diagnostic.Code {
    /// What a problem of an expression is called among those of a configuration.
    package init(_ code: Problem.Code) {
        self =
            switch code {
            case .unknownVariable: .unknownVariable
            case .unknownField: .unknownField
            case .unknownFunction: .unknownFunction
            case .noOverload, .typeMismatch: .wrongType
            default: .invalidExpression
            }
    }
}
