import StrictJSON
import Varlink

/// `org.varlink.certification`, against which implementations of Varlink are held: each call brings what the one before it
/// was answered, and the service compares.
enum CertificationInterface {
    static let name = "org.varlink.certification"

    static let text = """
        # Calls whose parameters are what the call before was answered.
        interface org.varlink.certification

        type Interface (foo: ?[]?[string](foo, bar, baz), anon: (foo: bool, bar: bool))

        type MyType (
          object: object,
          enum: (one, two, three),
          struct: (first: int, second: string),
          array: []string,
          dictionary: [string]string,
          stringset: [string](),
          nullable: ?string,
          nullable_array_struct: ?[](first: int, second: string),
          interface: Interface
        )

        method Start() -> (client_id: string)

        method Test01(client_id: string) -> (bool: bool)

        method Test02(client_id: string, bool: bool) -> (int: int)

        method Test03(client_id: string, int: int) -> (float: float)

        method Test04(client_id: string, float: float) -> (string: string)

        method Test05(client_id: string, string: string) -> (bool: bool, int: int, float: float, string: string)

        method Test06(client_id: string, bool: bool, int: int, float: float, string: string) -> (
          struct: (bool: bool, int: int, float: float, string: string)
        )

        method Test07(client_id: string, struct: (bool: bool, int: int, float: float, string: string)) -> (
          map: [string]string
        )

        method Test08(client_id: string, map: [string]string) -> (set: [string]())

        method Test09(client_id: string, set: [string]()) -> (mytype: MyType)

        # To be called with 'more'.
        method Test10(client_id: string, mytype: MyType) -> (string: string)

        # To be called with 'oneway'.
        method Test11(client_id: string, last_more_replies: []string) -> ()

        method End(client_id: string) -> (all_ok: bool)

        # There is no such client.
        error ClientIdError ()

        # A call is not as it is to be.
        error CertificationError (wants: object, got: object)

        """

    /// The calls in their order.
    static let methods = ["Start"] + (1...9).map { "Test0\($0)" } + ["Test10", "Test11", "End"]

    static let several: JSONObject = ["bool": false, "int": 2, "float": .double(.pi), "string": "a lot of string"]

    static let myType: JSONValue = [
        "object": [
            "method": "org.varlink.certification.Test09", "parameters": ["map": ["foo": "Foo", "bar": "Bar"]],
        ],
        "enum": "two", "struct": ["first": 1, "second": "2"], "array": ["one", "two", "three"],
        "dictionary": ["foo": "Foo", "bar": "Bar"], "stringset": ["one": [:], "two": [:], "three": [:]],
        "interface": [
            "foo": [nil, ["foo": "foo", "bar": "bar"], nil, ["one": "foo", "two": "bar"]],
            "anon": ["foo": true, "bar": false],
        ],
    ]

    /// The answer to each call, without the client's identifier; the replies to `Test10` differ.
    static func reply(to method: String) -> JSONObject {
        switch method {
        case "Test01": ["bool": true]
        case "Test02": ["int": 1]
        case "Test03": ["float": 1.0]
        case "Test04": ["string": "ping"]
        case "Test05": several
        case "Test06": ["struct": .object(several)]
        case "Test07": ["map": ["foo": "Foo", "bar": "Bar"]]
        case "Test08": ["set": ["one": [:], "two": [:], "three": [:]]]
        case "Test09": ["mytype": myType]
        case "End": ["all_ok": true]
        default: [:]
        }
    }

    static let lastReplies: [JSONValue] = (1...10).map { .string("Reply number \($0)") }

    /// The way to make each call.
    static func mode(of method: String) -> CallMessage.Mode {
        switch method {
        case "Test10": .more
        case "Test11": .oneway
        default: .single
        }
    }

    /// The parameters of each call, without the client's identifier.
    static func parameters(of method: String) -> JSONObject {
        switch method {
        case "Test11": ["last_more_replies": .array(lastReplies)]
        default:
            // The answer to the call before.
            methods.firstIndex(of: method).map { $0 > 1 && method != "End" ? reply(to: methods[$0 - 1]) : [:] } ?? [:]
        }
    }
}
