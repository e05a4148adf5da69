import StrictJSON
import Varlink

/// Parses an input as the definition of an interface; what is read is printed, and read as the same again. Then values
/// are held against it.
///
/// The fuzzer calls it with new inputs, and `StoredInputTests` with the stored ones.
enum DefinitionSubject {
    static func exercise(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let definition: InterfaceDefinition
        do throws(InterfaceSyntaxError) {
            definition = try InterfaceDefinition(parsing: text)
        } catch {
            precondition(error.line >= 1 && error.column >= 1)
            return
        }
        let printed = definition.description
        guard let again = try? InterfaceDefinition(parsing: printed) else { preconditionFailure("not read again") }
        precondition(again == definition, "it reads differently")
        precondition(again.description == printed)
        for member in definition.members {
            guard case .method(let method) = member else { continue }
            for values in samples { try? definition.check(values, against: method.parameters) }
        }
    }
}

private let samples: [JSONObject] = {
    let leaf: JSONValue = ["x": 1, "y": ["left": nil], "a": [1.5, "b", true, nil], "flag": false]
    return [[:], ["in": leaf, "t": leaf], ["in": ["self": leaf, "list": [leaf], "map": ["k": leaf]], "x": leaf]]
}()
