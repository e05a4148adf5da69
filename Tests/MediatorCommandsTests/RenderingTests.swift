import MediatorCommands
import Testing
import Varlink

/// The output of each verb for the sample answers, letter by letter.
struct RenderingTests {
    static let texts: [(arguments: [String], text: String)] = [
        (
            ["status"],
            """
            mediatord 0.1.0, process 4242, up 3 h
            healthy: 1 healthy, 1 stopped
            2 systems, 3 buses, 1 link from /etc/mediatord, /run/mediatord

            SYSTEM      HEALTH   STATE                                          SINCE                   EVENTS  DROPPED  FAULTS  DESCRIPTION
            backup      stopped  Paused                                         Nov 19 02:13 (2 d ago)       7        4       1
            disk-guard  healthy  Full mount=/var note="nearly full" percent=97  11:57:00 (3 min ago)      1234                   Is a disk filling?

            """
        ),
        (
            ["list", "systems"],
            """
            SYSTEM      HEALTH   STATE                                          SINCE                   EVENTS  DROPPED  FAULTS  DESCRIPTION
            backup      stopped  Paused                                         Nov 19 02:13 (2 d ago)       7        4       1
            disk-guard  healthy  Full mount=/var note="nearly full" percent=97  11:57:00 (3 min ago)      1234                   Is a disk filling?

            """
        ),
        (
            ["list", "buses"],
            #"""
            BUS          KIND          TYPE    VALUE            SINCE               PUBLISHED  DROPPED  READERS  WRITERS  DESCRIPTION
            alarms       passthrough   alarms                                               3        1        1        1
            backup       currentValue  string  "off\u001b[31m"  11:59:59 (1 s ago)          1                 0        0  What the backup says
            temperature  currentValue  double  21.5                                         0                 0        0

            """#
        ),
        (
            ["list", "links"],
            """
            LINK       RULE                               FIRED  LAST FIRED
            tell-full  disk-guard ── Full ──▶ bus alarms      1  11:57:00 (3 min ago)

            """
        ),
        (
            ["list", "--waits"],
            """
            SYSTEM      FEEDBACK  KEY   WAIT      UNTIL              THEN
            disk-guard  probe     sda1  debounce  12:00:03 (in 3 s)  debounce 5s: run df --output=pcent
            backup                      restart   14:00:00 (in 2 h)  begin anew
            and 3 later waits

            """
        ),
        (
            ["show", "disk-guard"],
            """
            system disk-guard
              Is a disk filling?
              kind       disk
              health     healthy
              state      Full mount=/var note="nearly full" percent=97
              since      11:57:00 (3 min ago)
              counters   1234 events, 12 transitions, 3 unhandled, 0 dropped, 0 faults
              mailbox    limit 64, fail
              effects    1 running, 2 waiting
              on faults  restart after 1s, at most 1m; 10 per 10m, then stop
              ready      in Idle within 1m30s, otherwise restart
              watchdog   2m
              group      storage (rest): disk-guard, backup
              links      tell-full
              source     /etc/mediatord/disk.yaml:1

            with
              PARAMETER  TYPE              VALUE
              mounts     list(string)      ["/","/var"]
              pause      duration          30m
              share      optional(string)
              token      string            (not shown)

            states
              STATE                   FIELDS
              Unknown  initial
              Full     now, degraded  percent: int, mount: string, note: string

            events
              EVENT     FIELDS
              Reset
              Measured  percent: int (between 0 and 100), mount: string, within: duration

            transitions
              FROM  ON        TO       WHEN
              any   Measured  Full     event.percent > 90
              Full  Reset     Unknown

            feedbacks
              FEEDBACK  ON STATE  STRATEGY                    RUNNING  WAITING  NEXT               EFFECT                           OPTIONS
              probe     any       continueOnNewState, queued        1        2  12:00:03 (in 3 s)  every 5s: run df --output=pcent  retry: 2 × after 1s, timeout: 5s

            outcomes
              FEEDBACK  OUTCOME    EMITS              WHEN
              probe     onSuccess  Measured           result.exitCode == 0
              probe     onFailure  Reset
              probe     onTimeout  nothing (degrade)

            """
        ),
        (
            ["show", "system:backup"],
            """
            system backup
              health      stopped
              state       Paused
              since       Nov 19 02:13 (2 d ago)
              counters    7 events, 2 transitions, 0 unhandled, 4 dropped, 1 fault, 2 restarts, 1 reset
              mailbox     limit 1024, dropOldest
              unhandled   warn
              effects     0 running, 0 waiting
              on faults   stop
              last fault  the expression 'a / b' divides by zero

            states
              STATE
              Paused  now, initial

            """
        ),
        (
            ["show", "alarms"],
            """
            bus alarms
              kind          passthrough
              type          text: string, severity: int
              published     3
              dropped       1 (limit 1024, dropOldest)
              readers       1
              writers       1
              from outside  written to and read by other programs
              links         tell-full
              source        /etc/mediatord/buses.yaml:3

            """
        ),
        (
            ["show", "link:tell-full"],
            """
            link tell-full
              disk-guard ── Full ──▶ bus alarms
              system      disk-guard
              bus         alarms
              fires on    onState: Full
              emits       { text: "disk full", severity: 3 }
              fired       1 time
              last fired  11:57:00 (3 min ago)
              limit       10 per 1s and a value may cross 16 links at most
              source      /etc/mediatord/buses.yaml:9

            """
        ),
        (
            ["tap", "disk-guard", "--count", "2"],
            """
            11:57:00  is Unknown
            … 2 changes missed, because they were read too slowly
            11:58:30  Unknown ─ Measured(mount=/var percent=97) → Full mount=/var note="nearly full" percent=97

            """
        ),
        (
            ["tap", "temperature", "--count", "2"],
            """
            11:59:59  is 21.5
            Nov 20 10:00  {"a":[1,"b c"]}

            """
        ),
        (
            ["tap", "--count", "5"],
            """
            11:57:00  disk-guard  is Unknown
            11:59:59  temperature  is 21.5
            … 2 changes missed, because they were read too slowly
            11:58:30  disk-guard   Unknown ─ Measured(mount=/var percent=97) → Full mount=/var note="nearly full" percent=97
            11:58:30  tell-full    → {"text":"full"}
            11:59:00  backup       has ended
            11:59:00  backup       begins
            11:59:01  … 12 changes left out by --rate
            Nov 20 10:00  temperature  {"a":[1,"b c"]}

            """
        ),
        (
            ["graph"],
            """
            backup
            disk-guard
            └─ tell-full → bus alarms
            bus backup
            bus temperature

            """
        ),
        (
            ["graph", "--live", "--around", "alarms"],
            """
            disk-guard  Full mount=/var note="nearly full" percent=97
            └─ tell-full ×1 → bus alarms  1 dropped

            """
        ),
        (
            ["emit", "disk-guard", "Measured", "percent=5", "mount=/var log", "within=1h30m"],
            "emitted Measured mount=\"/var log\" percent=5 within=1h30m to system disk-guard\n"
        ),
        (
            ["publish", "alarms", "text=disk full", "severity=3"],
            "published {\"severity\":3,\"text\":\"disk full\"} on bus alarms\n"
        ),
        (
            ["emit", "disk-guard", "Measured", "percent=5", "mount=2026-11-21T11:57:00.5Z", "within=1h30m"],
            "emitted Measured mount=11:57:00 percent=5 within=1h30m to system disk-guard\n"
        ),
        (
            ["publish", "alarms", "text=2026-11-21T11:57:00.5Z", "severity=3"],
            "published {\"severity\":3,\"text\":\"11:57:00\"} on bus alarms\n"
        ),
        (["publish", "temperature", "--", "-5"], "published -5.0 on bus temperature\n"),
        (
            ["why", "disk-guard"],
            #"""
            disk-guard is in Paused since 11:57:00 (3 min ago)
              by the event Pause
              which the link pause made of a value of the bus uplink
              the bus uplink got "down\u{1b}[31m", 11:57:00
              put there by the link tell
            uplink was in Down { reason: "no answer" } since 11:56:58 (3 min ago)
              emitted by a client (user 0, process 7), 11:56:58

            """#
        ),
        (
            ["why", "disk-guard", "--limit", "1"],
            #"""
            disk-guard is in Paused since 11:57:00 (3 min ago)
              by the event Pause
              which the link pause made of a value of the bus uplink
              the bus uplink got "down\u{1b}[31m", 11:57:00
              put there by the link tell
              and 1 earlier state, which --limit leaves out

            """#
        ),
        (
            ["why-not", "disk-guard", "Measured"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Measured would lead to Idle, if the condition holds.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                open: it depends on event.percent
              any: Measured → stay  disk.yaml:14:9
                open: not tried, since one before it may hold
            What sends Measured:
              link measure: bus sizes → disk-guard  a.yaml:3:3
                no: value > 3 — false, value is 2
                it fires at each value of the bus sizes; it fired last at 11:57:00
              feedback probe: every 5s: run df  disk.yaml:5:3
                it emits it on onSuccess; its time is at 12:00:03

            """
        ),
        (
            ["why-not", "disk-guard", "Measured", "percent=95", "mount=/", "within=1s"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            It would handle Measured, and stay as it is.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                no: event.percent < 90 — false, event.percent is 95
              any: Measured → stay  disk.yaml:14:9
            What sends Measured:
              link measure: bus sizes → disk-guard  a.yaml:3:3
                no: value > 3 — false, value is 2
                it fires at each value of the bus sizes; it fired last at 11:57:00
              feedback probe: every 5s: run df  disk.yaml:5:3
                it emits it on onSuccess; its time is at 12:00:03

            """
        ),
        (
            ["why-not", "disk-guard", "Reset"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Full has no transition on Reset; there is one in Idle and Filling.
            No link and no feedback sends Reset: it comes from outside only, such as by `mediatorctl emit`.

            """
        ),
        (
            ["why-not", "disk-guard", "Measured", "percent=80"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Measured would change nothing: the `set` of 'share' fails, which is a fault.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                yes: event.percent < 90 — true, event.percent is 80
                fails: set share: state.percent / event.step — error: 97 / 0: division by zero, event.step is 0
            No link and no feedback sends Measured: it comes from outside only, such as by `mediatorctl emit`.

            """
        ),
        (
            ["trace", "disk-guard"],
            #"""
            Nov 19 02:13  began in Idle
            11:56:30  the feedback follow in Idle came after 30s to onLine { line: "x" } (and 1 before)
            … 2 steps left out
            11:57:00  Idle → Full { percent: 97 } on Measured { percent: 97 }
                no: event.percent < 90 — false, event.percent is 97
                yes: event.percent > 95 — true, event.percent is 97
            11:58:00  the feedback follow in Idle came after 2m to onLine { line: "y" }
            11:59:00  dropped Reset: mailboxFull\u{1b}[0m

            """#
        ),
        (
            ["trace", "disk-guard", "--changes"],
            """
            Nov 19 02:13  began in Idle
            … 2 steps left out
            11:57:00  Idle → Full { percent: 97 } on Measured { percent: 97 }
                no: event.percent < 90 — false, event.percent is 97
                yes: event.percent > 95 — true, event.percent is 97

            """
        ),
        (
            ["trace", "disk-guard", "--changes", "--limit", "1"],
            """
            11:57:00  Idle → Full { percent: 97 } on Measured { percent: 97 }
                no: event.percent < 90 — false, event.percent is 97
                yes: event.percent > 95 — true, event.percent is 97

            """
        ),
    ]

    @Test(arguments: texts.indices)
    func `each verb prints for people what it always did`(index: Int) async throws {
        let bench = try await Bench()
        let (arguments, text) = Self.texts[index]
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result == .init(status: .success, output: text, error: ""))
        await bench.service.close()
    }
}
