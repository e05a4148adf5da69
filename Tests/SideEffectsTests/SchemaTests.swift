import MediatorConfiguration
import MediatorHost
import SideEffects
import Testing

@Suite struct `The catalogue of every daemon` {
    @Test func `equals the catalogue for checking configurations without a daemon`() {
        func lines(_ schemas: [EffectSchema]) -> [String] {
            schemas.map { schema in
                let parameters = schema.parameters.map {
                    "\($0.name): \($0.type) \($0.required) \(String(describing: $0.default)) \($0.choices) \($0.allowsEmpty)"
                }
                let outcomes = schema.outcomes.map { "\($0.name): \($0.result)" }
                return "\(schema.name) \(schema.shortForm ?? "-") \(schema.emitsDirectly) \(parameters) \(outcomes)"
            }.sorted()
        }
        #expect(lines(EffectCatalogue.builtin.schemas) == lines(EffectSchema.builtin))
    }
}
