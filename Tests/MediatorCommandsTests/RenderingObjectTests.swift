import MediatorCommands
import StrictJSON
import Testing
import Varlink

extension RenderingTests {
    static let system =
        #"{"counters":{"dropped":0,"events":1234,"failures":0,"faults":0,"resets":0,"restarts":0,"transitions":12,"unhandled":3,"updates":0},"#
        + #""description":"Is a disk filling?","effectsRunning":1,"effectsWaiting":2,"health":"healthy","name":"disk-guard","#
        + #""since":"2026-11-21T11:57:00Z","state":{"data":{"mount":"/var","note":"nearly full","percent":97},"#
        + #""name":"Full"},"waiting":0,"waitingBytes":0}"#
    static let backup =
        #"{"counters":{"dropped":4,"events":7,"failures":0,"faults":1,"resets":1,"restarts":2,"transitions":2,"unhandled":0,"updates":0},"effectsRunning":0,"effectsWaiting":0,"#
        + #""health":"stopped","name":"backup","since":"2026-11-19T02:13:00.250Z","#
        + #""state":{"data":{},"name":"Paused"},"waiting":0,"waitingBytes":0}"#
    static let link =
        #"{"bus":"alarms","description":"disk-guard ── Full ──▶ bus alarms","dropped":0,"fired":1,"form":"systemToBus","#
        + #""lastFired":"2026-11-21T11:57:00Z","name":"tell-full","open":false,"origin":"written","#
        + #""system":"disk-guard"}"#

    static let objects: [(arguments: [String], lines: [String])] = [
        (
            ["status"],
            [
                #"{"buses":3,"configuration":["/etc/mediatord","/run/mediatord"],"generation":1,"health":"healthy","links":1,"#
                    + #""pid":4242,"reloads":{"applied":1,"rejected":2},"rights":["read","inject","administer"],"started":"2026-11-21T09:00:00Z","statusText":"1 healthy, 1 stopped","#
                    + #""systems":[\#(backup),\#(system)],"transient":0,"version":"0.1.0"}"#
            ]
        ),
        (["list", "systems"], [#"{"systems":[\#(backup),\#(system)]}"#]),
        (
            ["trace", "disk-guard", "--limit", "1"],
            [
                #"{"steps":[{"guards":[],"kind":"dropped","more":0,"number":6,"outcomes":[],"#
                    + #""text":"dropped Reset: mailboxFull\u001b[0m","time":"2026-11-21T11:59:00Z"}]}"#
            ]
        ),
        (
            ["list", "--waits"],
            [
                #"{"leftOut":3,"waits":[{"action":"debounce 5s: run df --output=pcent","due":"2026-11-21T12:00:03.2Z","#
                    + #""feedback":"probe","key":"sda1","kind":"debounce","system":"disk-guard"},"#
                    + #"{"action":"begin anew","due":"2026-11-21T14:00:00Z","kind":"restart","system":"backup"}]}"#
            ]
        ),
        (["list", "links"], [#"{"changes":[],"links":[\#(link)]}"#]),
        (
            ["show", "temperature"],
            [
                #"{"bus":{"fields":[],"limit":1024,"links":[],"overflow":"dropOldest","#
                    + #""source":"/etc/mediatord/buses.yaml:3","summary":{"dropped":0,"kind":"currentValue","#
                    + #""name":"temperature","published":0,"readers":0,"value":21.5,"valueType":"double","writers":0}}}"#
            ]
        ),
        (
            ["show", "tell-full"],
            [
                #"{"link":{"condition":"onState: Full","emits":"{ text: \"disk full\", severity: 3 }","#
                    + #""hops":16,"limit":"10 per 1s","source":"/etc/mediatord/buses.yaml:9","summary":\#(link)}}"#
            ]
        ),
        (
            ["show", "system:backup"],
            [
                #"{"system":{"events":[],"feedbacks":[],"initialState":"Paused","#
                    + #""lastFault":"the expression 'a / b' divides by zero","links":[],"mailbox":{"limit":1024,"overflow":"dropOldest"},"#
                    + #""states":[{"fields":[],"name":"Paused"}],"summary":\#(backup),"#
                    + #""supervision":{"beyond":"stop","delay":"1s","limit":"10 per 10m","maxDelay":"1m","onFault":"stop"},"#
                    + #""transitions":[],"unhandled":"warn"}}"#
            ]
        ),
        (
            ["tap", "disk-guard", "--count", "2"],
            [
                #"{"dropped":0,"kind":"system","name":"disk-guard","replayed":true,"#
                    + #""state":{"data":{},"name":"Unknown"},"time":"2026-11-21T11:57:00Z","topic":"state"}"#,
                #"{"dropped":2,"event":"Measured","eventData":{"mount":"/var","percent":97},"kind":"system","#
                    + #""name":"disk-guard","previous":"Unknown","#
                    + #""replayed":false,"state":{"data":{"mount":"/var","note":"nearly full","percent":97},"#
                    + #""name":"Full"},"time":"2026-11-21T11:58:30Z","topic":"state"}"#,
            ]
        ),
        (
            ["tap", "temperature", "--count", "1"],
            [
                #"{"dropped":0,"kind":"bus","name":"temperature","replayed":true,"time":"2026-11-21T11:59:59Z","#
                    + #""topic":"value","value":21.5}"#
            ]
        ),
        (
            ["graph", "--around", "alarms", "--live"],
            [
                #"{"links":[{"description":"disk-guard ── Full ──▶ bus alarms","fired":1,"#
                    + #""from":{"kind":"system","name":"disk-guard"},"loop":false,"name":"tell-full","open":false,"#
                    + #""to":{"kind":"bus","name":"alarms"}}],"parts":[{"count":1234,"description":"Is a disk filling?","#
                    + #""dropped":0,"health":"healthy","kind":"system","name":"disk-guard","#
                    + #""state":{"data":{"mount":"/var","note":"nearly full","percent":97},"name":"Full"}},"#
                    + #"{"count":3,"dropped":1,"kind":"bus","name":"alarms"}]}"#
            ]
        ),
        (
            ["emit", "disk-guard", "Measured", "percent=5", "mount=/var", "within=5s"],
            [#"{"data":{"mount":"/var","percent":5,"within":"5s"},"event":"Measured","system":"disk-guard"}"#]
        ),
        (["publish", "backup", "on"], [#"{"bus":"backup","value":"on"}"#]),
    ]

    @Test(arguments: objects.indices)
    func `each verb prints as JSON one object on a line`(index: Int) async throws {
        let bench = try await Bench()
        let (arguments, lines) = Self.objects[index]
        let result = await Bench.run(arguments + ["--json"], variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result == .init(status: .success, output: lines.map { $0 + "\n" }.joined(), error: ""))
        for line in lines { #expect(throws: Never.self) { try JSONValue(parsing: line) } }
        await bench.service.close()
    }

    @Test func `list without a word is everything in one object`() async throws {
        let bench = try await Bench()
        let output = await bench.run("list", "--json").output
        let value = try JSONValue(parsing: output)
        #expect(value.objectValue?.keys.sorted() == ["buses", "changes", "links", "systems"])
        await bench.service.close()
    }
}
