import CommonExpression
import MediatorConfiguration
import Testing

/// The kinds of a daemon that the tests of kinds share.
let sampleKinds = [
    SystemKind(
        name: "speaker",
        parameters: [
            .init(field: .init(name: "target", type: .int)),
            .init(field: .init(name: "volume", type: .int), default: .int(10)),
            .init(field: .init(name: "ramp", type: .optional(.duration))),
            .init(
                field: .init(name: "place", type: .string, rule: .words(["kitchen", "bath"])), default: .string("bath")),
            .init(field: .init(name: "key", type: .string), default: .string("")),
        ],
        states: [
            .init(
                name: "Playing",
                fields: [
                    .init(name: "volume", type: .int), .init(name: "title", type: .optional(.string)),
                    .init(name: "size", type: .structure(.init(name: "", fields: [.init(name: "x", type: .int)]))),
                ]),
            .init(name: "Muted"),
        ],
        events: [
            .init(
                name: "Louder", fields: [.init(name: "by", type: .int), .init(name: "why", type: .optional(.string))]),
            .init(name: "Mute"),
            .init(name: "Source", fields: [.init(name: "from", type: .string, rule: .words(["radio", "disc"]))]),
            .init(
                name: "Resize",
                fields: [.init(name: "size", type: .structure(.init(name: "", fields: [.init(name: "x", type: .int)])))]
            ),
        ]),
    SystemKind(name: "timer", states: [.init(name: "Running")]),
    SystemKind(
        name: "server",
        parameters: [
            .init(field: .init(name: "port", type: .uint, rule: port), default: .uint(80)),
            .init(field: .init(name: "more", type: .list(.uint), rule: .each(port)), default: .list([])),
            .init(
                field: .init(name: "named", type: .map(key: .string, value: .uint), rule: .each(port)),
                default: .map([:])),
            .init(
                field: .init(name: "peers", type: .list(.structure(peer)), rule: .each(peerRule)), default: .list([])),
            .init(field: .init(name: "level", type: .int, rule: .numbers([1, 2])), default: .int(1)),
            .init(field: .init(name: "id", type: .optional(.string), rule: .uuid)),
        ],
        states: [.init(name: "Serving", fields: [.init(name: "mode", type: .string, rule: mode)])],
        events: [
            .init(
                name: "Peer",
                fields: [
                    .init(name: "peer", type: .structure(peer), rule: peerRule),
                    .init(name: "offset", type: .optional(.int), rule: .range(-128...127)),
                ])
        ]),
]

private let port = ValueRule.range(0...65_535)
private let mode = ValueRule.words(["fast", "slow"])
private let peer = StructureType(
    name: "", fields: [.init(name: "modes", type: .list(.string)), .init(name: "port", type: .uint)])
private let peerRule = ValueRule.fields(["modes": .each(mode), "port": port])

let kitchenHead = "system: kitchen\nkind: speaker\nwith: { target: 15 }\n"

func sampleDefinition(_ text: String, values: ExternalValues = .none) throws -> SystemDefinition {
    let result = ConfigurationCompiler.compile(
        files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds, values: values)
    #expect(result.diagnostics.map { $0.rendered() } == [])
    return try #require(result.graph?.systems.first)
}
