package import CommonExpression

extension Diagnostic.Code {
    /// The configuration's code for a problem of an expression.
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
