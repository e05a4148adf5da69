import CommonExpression
import Testing

@Suite struct `The size of a value` {
    private let stride = MemoryLayout<Value>.stride

    @Test func `is the number of bytes outside the value`() throws {
        #expect(Value.int(5).heldBytes == 0 && Value.null.heldBytes == 0)
        let long = Value.string(String(repeating: "ä", count: 10))
        #expect(Value.string("äb").heldBytes == 0 && long.heldBytes == 32 + 20)
        #expect(Value.bytes([1, 2]).heldBytes == 32 + 2 && Value.bytes([]).heldBytes == 0)
        #expect(Value.list([]).heldBytes == 0 && Value.list([.int(1), long]).heldBytes == 32 + 2 * stride + 52)
        #expect(Value.optional(long).heldBytes == stride + 52)
        let type = StructureType(name: "s", fields: [.init(name: "a", type: .string), .init(name: "b", type: .dyn)])
        let inner = Value.list([long])
        #expect(
            Value.structure(Structure(type: type, fields: [.string("x"), inner])).heldBytes == 64 + 3 * stride + 52)
        #expect(Value.map([.string("key"): long]).heldBytes >= 2 * stride + 52)
    }

    @Test func `is computed in bounded time`() {
        let text = Value.string(String(repeating: "x", count: 100))
        let many = Value.list(Array(repeating: .list(Array(repeating: text, count: 1_000)), count: 1_000))
        let bytes = many.heldBytes
        #expect(bytes > Value.mostHeldBytes && bytes < Value.mostHeldBytes + 2_000 * stride)
        let few = many.heldBytes(upTo: 1_000)
        #expect(few > 1_000 && few < 3_000 * stride)
        #expect(Value.list(Array(repeating: .int(0), count: 1_000_000)).heldBytes == 32 + 1_000_000 * stride)
    }
}
