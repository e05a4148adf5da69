import CommonExpression
import Testing

@Suite struct `How much a value holds` {
    private let stride = MemoryLayout<Value>.stride

    @Test func `is what lies outside of it`() throws {
        #expect(Value.int(5).heldBytes == 0 && Value.null.heldBytes == 0)
        #expect(Value.string("äb").heldBytes == 3)
        #expect(Value.bytes([1, 2]).heldBytes == 2)
        #expect(Value.list([.int(1), .string("abc")]).heldBytes == 2 * stride + 3)
        #expect(Value.optional(.string("abc")).heldBytes == stride + 3)
        let type = StructureType(name: "s", fields: [.init(name: "a", type: .string), .init(name: "b", type: .dyn)])
        let inner = Value.list([.string("abcd")])
        #expect(Value.structure(Structure(type: type, fields: [.string("x"), inner])).heldBytes == 3 * stride + 5)
        #expect(Value.map([.string("key"): .string("value")]).heldBytes >= 2 * stride + 8)
    }

    @Test func `is counted in bounded time`() {
        let text = Value.string(String(repeating: "x", count: 100))
        let many = Value.list(Array(repeating: .list(Array(repeating: text, count: 1_000)), count: 1_000))
        let bytes = many.heldBytes
        #expect(bytes >= 1_000 * stride + 9_000 * 100 && bytes < 1_000 * stride + 10_000 * (stride + 100) + 1)
        #expect(Value.list(Array(repeating: .int(0), count: 1_000_000)).heldBytes == 1_000_000 * stride)
    }
}
