import NIOCore
import StrictJSON
import Testing
import Varlink

struct FrameDecoderTests {
    static let stream: [UInt8] = Array("abc\0\0{\"a\":1}\0tail".utf8)
    static let messages = ["abc", "", "{\"a\":1}"]

    private func decode(_ pieces: [ArraySlice<UInt8>], limit: Int = 7) throws -> [String] {
        var decoder = FrameDecoder(maximumLength: limit)
        var messages: [String] = []
        for piece in pieces {
            decoder.append(ByteBuffer(bytes: piece))
            while let message = try decoder.next() { messages.append(String(buffer: message)) }
        }
        return messages
    }

    @Test func `a stream byte by byte gives the same messages`() throws {
        #expect(try decode(Self.stream.indices.map { Self.stream[$0...$0] }) == Self.messages)
    }

    @Test func `a stream split in three anywhere gives the same messages`() throws {
        for first in 0...Self.stream.count {
            for second in first...Self.stream.count {
                let pieces = [Self.stream[..<first], Self.stream[first..<second], Self.stream[second...]]
                #expect(try decode(pieces) == Self.messages)
            }
        }
    }

    @Test func `a stream added at once gives the same messages`() throws {
        var decoder = FrameDecoder(maximumLength: 7)
        for byte in Self.stream { decoder.append(ByteBuffer(bytes: [byte])) }
        var messages: [String] = []
        while let message = try decoder.next() { messages.append(String(buffer: message)) }
        #expect(messages == Self.messages)
        #expect(decoder.bufferedBytes == 4)
    }

    @Test func `a message may be as long as the limit, but not longer`() throws {
        #expect(try decode([Array("1234567\0".utf8)[...]]) == ["1234567"])
        #expect(throws: VarlinkError.self) { try decode([Array("12345678\0".utf8)[...]]) }
        #expect(throws: VarlinkError.self) { try decode([Array("12345678".utf8)[...]]) }
        #expect(throws: VarlinkError.self) { try decode(Array("12345678".utf8).map { [$0][...] }) }
    }

    @Test func `a refused stream stays refused`() throws {
        var decoder = FrameDecoder(maximumLength: 3)
        decoder.append(ByteBuffer(string: "1234"))
        for _ in 0..<3 {
            let error = #expect(throws: VarlinkError.self) { try decoder.next() }
            #expect(error?.code == .messageTooLarge)
        }
    }

    @Test func `many messages keep little memory`() throws {
        var decoder = FrameDecoder(maximumLength: 1 << 20)
        let block = ByteBuffer(
            string: String(repeating: String(repeating: "x", count: 999) + "\0", count: 100) + "rest")
        for _ in 0..<50 {
            decoder.append(block)
            for _ in 0..<100 { #expect(try decoder.next() != nil) }
            #expect(try decoder.next() == nil)
            #expect(decoder.bufferedBytes < 1000)
        }
    }
}

struct MessageTests {
    private func call(_ text: String) throws -> CallMessage { try CallMessage(parsing: Array(text.utf8).span) }
    private func reply(_ text: String) throws -> ReplyMessage { try ReplyMessage(parsing: Array(text.utf8).span) }

    @Test(arguments: [
        (#"{"method":"a.b.C"}"#, CallMessage(method: "a.b.C")),
        (#"{"method":"a.b.C","parameters":null}"#, CallMessage(method: "a.b.C")),
        (#"{"method":"a.b.C","parameters":{}}"#, CallMessage(method: "a.b.C")),
        (#"{"parameters":{"x":1},"method":"a.b.C"}"#, CallMessage(method: "a.b.C", parameters: ["x": 1])),
        (#"{"method":"a.b.C","more":true,"oneway":false}"#, CallMessage(method: "a.b.C", mode: .more)),
        (#"{"method":"a.b.C","oneway":true}"#, CallMessage(method: "a.b.C", mode: .oneway)),
        (#"{"method":"a.b.C","upgrade":true}"#, CallMessage(method: "a.b.C", mode: .upgrade)),
        (#"{"method":"a.b.C","com.example.x":[1]}"#, CallMessage(method: "a.b.C")),
    ])
    func `a call is read`(text: String, message: CallMessage) throws {
        #expect(try call(text) == message)
        #expect(try call(String(decoding: message.serialized(), as: UTF8.self)) == message)
    }

    @Test(arguments: [
        "", "1", "[]", "{}", #"{"method":null}"#, #"{"method":""}"#, #"{"method":"a","parameters":1}"#,
        #"{"method":"a","more":true,"oneway":true}"#, #"{"method":"a","more":true,"upgrade":true}"#,
        #"{"method":"a","oneway":true,"upgrade":true}"#, #"{"method":"a","more":"true"}"#,
        #"{"method":"a","more":null}"#,
        #"{"method":"a","other":1}"#, #"{"method":"a","continues":true}"#, #"{"method":"a",".x":1}"#,
        #"{"method":"a","x.":1}"#, #"{"method":"a","method":"b"}"#, #"{"method":"a"} x"#,
    ])
    func `a malformed call is a violation`(text: String) {
        let error = #expect(throws: VarlinkError.self) { try call(text) }
        #expect(error?.code == .protocolViolation)
    }

    @Test func `false flags and empty parameters are omitted`() {
        #expect(String(decoding: CallMessage(method: "a.b.C").serialized(), as: UTF8.self) == #"{"method":"a.b.C"}"#)
        #expect(String(decoding: ReplyMessage(parameters: [:]).serialized(), as: UTF8.self) == #"{"parameters":{}}"#)
    }

    @Test(arguments: [
        ("{}", ReplyMessage(parameters: [:])), (#"{"parameters":null}"#, ReplyMessage(parameters: [:])),
        (#"{"parameters":{"x":1},"continues":true}"#, ReplyMessage(parameters: ["x": 1], continues: true)),
        (#"{"error":"a.b.C"}"#, ReplyMessage(error: ErrorReply("a.b.C"))),
        (#"{"error":"a.b.C","parameters":{"x":1}}"#, ReplyMessage(error: ErrorReply("a.b.C", parameters: ["x": 1]))),
    ])
    func `a reply is read`(text: String, message: ReplyMessage) throws {
        #expect(try reply(text) == message)
        #expect(try reply(String(decoding: message.serialized(), as: UTF8.self)) == message)
    }

    @Test(arguments: [
        "", "null", #"{"error":1}"#, #"{"error":""}"#, #"{"error":"a.b.C","continues":true}"#, #"{"continues":1}"#,
        #"{"parameters":[]}"#, #"{"method":"a"}"#,
    ])
    func `a malformed reply is a violation`(text: String) {
        let error = #expect(throws: VarlinkError.self) { try reply(text) }
        #expect(error?.code == .protocolViolation)
    }

    @Test(arguments: [
        ServiceError.interfaceNotFound(interface: "a.b"), .methodNotFound(method: "a.b.C"),
        .methodNotImplemented(method: "a.b.C"), .invalidParameter(parameter: "x[1].y"), .permissionDenied,
        .expectedMore,
    ])
    func `a service error survives encoding and decoding`(error: ServiceError) {
        #expect(ServiceError(error.errorReply) == error)
    }

    @Test func `other errors are not service errors`() {
        #expect(ServiceError(ErrorReply("org.varlink.service.Other")) == nil)
        #expect(ServiceError(ErrorReply("org.example.PermissionDenied")) == nil)
    }
}

struct NameTests {
    @Test(arguments: ["a.b", "org.varlink.service", "A.1", "a-b.c--d", "xn--x.y", "a1.b.c"])
    func `names of interfaces`(name: String) {
        #expect(Names.isInterfaceName(name))
    }

    @Test(arguments: ["", "a", "a.", ".a", "a..b", "1.b", "a-.b", "a.-b", "a.b-", "a_b.c", "a.b c", "ä.b", "-a.b"])
    func `invalid names of interfaces`(name: String) {
        #expect(!Names.isInterfaceName(name))
    }

    @Test(arguments: ["a", "A", "a1", "aB_c", "a_1_b"])
    func `names of fields`(name: String) {
        #expect(Names.isFieldName(name))
    }

    @Test(arguments: ["", "_a", "a_", "a__b", "1a", "a-b", "ä"])
    func `invalid names of fields`(name: String) {
        #expect(!Names.isFieldName(name))
    }

    @Test func `names of members`() {
        for name in ["A", "GetInfo", "A1"] { #expect(Names.isMemberName(name)) }
        for name in ["", "a", "1A", "A_b", "A-b", "Ä", String(repeating: "A", count: 256)] {
            #expect(!Names.isMemberName(name))
        }
    }
}

struct ParameterErrorTests {
    private struct Outer: Decodable {
        let inner: [Inner]
    }

    private struct Inner: Decodable {
        let list: [Int]
    }

    @Test func `an error about a parameter has its path`() {
        let call = MethodCall(
            method: "a.b.C", parameters: ["inner": [["list": [1, "a"]]]], mode: .single,
            peer: VarlinkPeer(processID: 1, userID: 0, groupID: 0), sink: { _ in })
        #expect(throws: ServiceError.invalidParameter(parameter: "inner[0].list[1]")) {
            try call.decodeParameters(as: Outer.self)
        }
    }
}
