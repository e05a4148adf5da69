import FeedbackKitTesting
import MediatorConfiguration
import MediatorDaemon
import Synchronization
import Testing
import TestSupport
import Varlink

/// The decisions about rights alone, without a socket.
@Suite struct `Access` {
    static let accounts = Accounts(
        user: { ["alice": 1_001, "bob": 1_002, "own": 77, "root": 0][$0] },
        group: { ["mediatord": 50, "adm": 51, "wheel": 52, "ops": 53][$0] },
        userName: { _ in nil })

    private static let rules = """
        access:
          read: { groups: [adm], users: bob }
          inject:
            - { users: [alice], systems: ["ups*", "net@*"], buses: [power] }
            - { groups: [53], buses: "*" }
            - groups: [ops]
              systems: exact
          administer: { groups: [wheel] }
        ---
        buses:
          power: { kind: passthrough, value: int, fromOutside: both }
        ---
        system: ups-1
        states: { A: {} }
        events: { E: {} }
        fromOutside: any
        initialState: A
        transitions: { A: { E: stay } }
        ---
        system: exact
        states: { A: {} }
        events: { E: {} }
        fromOutside: any
        initialState: A
        transitions: { A: { E: stay } }
        ---
        system: net@
        parameters: { n: int }
        states: { A: {} }
        events: { E: {} }
        fromOutside: any
        initialState: A
        transitions: { A: { E: stay } }
        ---
        instances: { net@eth0: { n: 1 } }

        """

    private static func table(_ text: String, _ accounts: Accounts = accounts) throws -> AccessTable {
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)])
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        return AccessTable(graph.access, own: 77, accounts: accounts)
    }

    /// Someone who connects.
    struct Caller: Sendable, CustomStringConvertible {
        var description: String
        var peer: VarlinkPeer

        init(_ description: String, _ user: UInt32, _ group: UInt32, _ groups: [UInt32] = []) {
            self.description = description
            peer = VarlinkPeer(processID: 1, userID: user, groupID: group, groups: groups)
        }
    }

    static let requests: [AccessTable.Request] = [
        .read, .inject, .injectInto(system: "ups-1"), .injectInto(system: "exact"), .injectInto(system: "net@eth0"),
        .injectOn(bus: "power"), .injectOn(bus: "other"), .administer,
    ]

    @Test(arguments: [
        (Caller("root", 0, 0), "yyyyyyyy"),
        (Caller("the daemon's own user", 77, 99), "yyyyyyyy"),
        (Caller("a reader by the group mediatord", 2_000, 50), "y-------"),
        (Caller("a reader by a supplementary group", 2_000, 9, [8, 50, 7]), "y-------"),
        (Caller("a reader by a named group", 2_000, 51), "y-------"),
        (Caller("a reader by name", 1_002, 9), "y-------"),
        (Caller("who may inject into some", 1_001, 9), "yyy-yy--"),
        (Caller("whose group may inject, by two rules of which one names it by number", 2_000, 53), "yy-y-yy-"),
        (Caller("who has the rights of a user and of a group", 1_001, 9, [53]), "yyyyyyy-"),
        (Caller("an administrator", 2_000, 9, [52]), "yyyyyyyy"),
        (Caller("nobody", 2_000, 9, [8, 7]), "--------"),
    ])
    func `what each may do`(caller: Caller, expected: String) throws {
        let table = try Self.table(Self.rules)
        let found = Self.requests.map { table.allows($0, caller.peer) ? "y" : "-" }.joined()
        #expect(found == expected, "\(Self.requests)")
    }

    @Test(
        arguments: [
            (Caller("root", 0, 0), nil),
            (Caller("a reader by name", 1_002, 9), nil),
            (Caller("who may inject into some", 1_001, 9), "net@*, ups* | power"),
            (Caller("whose group may inject", 2_000, 53), "exact | *"),
            (Caller("who has the rights of a user and of a group", 1_001, 9, [53]), "exact, net@*, ups* | *, power"),
            (Caller("who is in a group twice", 2_000, 53, [53]), "exact | *"),
            (Caller("who may also administer", 1_001, 9, [52]), nil),
            (Caller("nobody", 2_000, 9), nil),
        ] as [(Caller, String?)])
    func `into what each may inject, if not everywhere`(caller: Caller, expected: String?) throws {
        let limits = try Self.table(Self.rules).injectionLimits(of: caller.peer)
        let text = limits.map { limits in
            [limits.systems, limits.buses].map { $0.map(\.text).sorted().joined(separator: ", ") }.joined(
                separator: " | ")
        }
        #expect(text == expected)
    }

    @Test func `without rules the group mediatord reads, and if there is none, nobody`() throws {
        let table = try Self.table("buses: {}\n")
        #expect(table.allows(.read, Caller("", 5, 50).peer))
        #expect(!table.allows(.inject, Caller("", 5, 50).peer))
        #expect(table.audience == .group(50))
        var none = Self.accounts
        none.group = { _ in nil }
        #expect(try Self.table("buses: {}\n", none).audience == .owner)
    }

    @Test func `everybody can be granted something`() throws {
        let table = try Self.table("access: { read: { users: \"*\" } }\n")
        #expect(table.allows(.read, Caller("", 5, 6).peer) && !table.allows(.administer, Caller("", 5, 6).peer))
        #expect(table.audience == .everybody)
    }

    @Test(arguments: [
        ("access: { read: { groups: mediatord } }", AccessTable.Audience.group(50)),
        ("access: { administer: { users: [root, own, 0] } }", .group(50)),
        ("access: { read: { groups: adm } }", .everybody),
        ("access: { read: { users: alice } }", .everybody),
        ("access: { read: { users: nobody-here } }", .group(50)),
    ])
    func `the socket is for those who may connect`(text: String, audience: AccessTable.Audience) throws {
        #expect(try Self.table(text + "\n").audience == audience)
    }

    @Test func `while one audience gives way to another the socket is for both`() {
        let all: [AccessTable.Audience] = [.owner, .group(1), .everybody]
        for audience in all {
            #expect(audience.with(audience) == audience)
            #expect(audience.with(.owner) == audience && AccessTable.Audience.owner.with(audience) == audience)
            #expect(audience.with(.everybody) == .everybody)
        }
        #expect(AccessTable.Audience.group(1).with(.group(2)) == .everybody)
    }

    @Test func `an account that there is not is a warning with its place, and granted nothing`() throws {
        let table = try Self.table("access:\n  read: { users: [alice, bod], groups: [adn] }\n")
        #expect(
            table.diagnostics.map { $0.rendered() } == [
                """
                a.yaml:2:26: warning: there is no user 'bod' on this machine: nothing is granted to it [unknown-account]
                    read: { users: [alice, bod], groups: [adn] }
                                           ^~~
                  hint: when there is one, `mediatorctl reload`
                """,
                """
                a.yaml:2:41: warning: there is no group 'adn' on this machine: nothing is granted to it [unknown-account]
                    read: { users: [alice, bod], groups: [adn] }
                                                          ^~~
                  hint: when there is one, `mediatorctl reload`
                """,
            ])
        #expect(table.allows(.read, Caller("", 1_001, 9).peer))
    }

    @Test func `the machine's accounts are found, and what is none is not`() {
        #expect(Accounts.machine.user("root") == 0 && Accounts.machine.group("root") == 0)
        #expect(Accounts.machine.userName(0) == "root")
        #expect(Accounts.machine.user("no such user here") == nil)
        #expect(Accounts.machine.group("no such group here") == nil)
        #expect(Accounts.machine.userName(4_294_967_290) == nil)
    }
}

@Suite struct `Names of users for the log` {
    @Test func `each is looked up once, until all are forgotten`() async {
        let count = Mutex(0)
        // Its limit does not pass, however slow this machine is.
        let names = AccountNames(clock: ManualClock()) { user in
            count.withLock { $0 += 1 }
            return user == 5 ? "alice" : nil
        }
        #expect(await names.name(of: 5) == "alice")
        #expect(await names.name(of: 5) == "alice")
        #expect(await names.name(of: 6) == nil)
        #expect(await names.name(of: 6) == nil)
        #expect(count.withLock { $0 } == 2)
        names.forget()
        #expect(await names.name(of: 5) == "alice")
        #expect(count.withLock { $0 } == 3)
    }

    @Test func `who asks does not wait for a database that does not answer, nor does anybody after them`() async {
        let clock = ManualClock()
        let gate = ThreadSemaphore()
        let (answers, answer) = AsyncStream<Void>.makeStream()
        let names = AccountNames(clock: clock) { user in
            guard user == 5 else { return "bob" }
            // The thread is that of the names.
            gate.wait()
            answer.finish()
            return "late"
        }
        async let name = names.name(of: 5)
        await clock.nextDeadline(in: AccountNames.patience)
        // The lookups of others go on.
        #expect(await names.name(of: 6) == "bob")
        clock.advance(by: AccountNames.patience)
        #expect(await name == nil)
        // The clock stands still: what is asked now is answered at once.
        #expect(await names.name(of: 5) == nil)
        gate.signal()
        for await _ in answers {}
        await suspend(while: names.present(5) != .some("late"))
        #expect(await names.name(of: 5) == "late")
    }

    @Test func `however many do not answer, there are few threads, and others get no name`() async {
        let gate = ThreadSemaphore()
        let (lookups, lookup) = AsyncStream<UInt32>.makeStream()
        let names = AccountNames(clock: ManualClock()) { user in
            lookup.yield(user)
            gate.wait()
            return "late"
        }
        let waiting = (0..<UInt32(AccountNames.pendingLimit)).map { user in Task { await names.name(of: user) } }
        var begun = lookups.makeAsyncIterator()
        for _ in waiting { _ = await begun.next() }
        #expect(await names.name(of: 99) == nil)
        for _ in waiting { gate.signal() }
        for one in waiting { #expect(await one.value == "late") }
        // None was begun for the last one.
        lookup.finish()
        #expect(await begun.next() == nil)
    }

    @Test func `some are looked up at once, and never forgotten`() async {
        let count = Mutex(0)
        let names = AccountNames(keeps: [0, 7]) { user in
            count.withLock { $0 += 1 }
            return "user \(user)"
        }
        await suspend(while: names.present(0) == nil || names.present(7) == nil)
        #expect(count.withLock { $0 } == 2)
        names.forget()
        #expect(names.present(0) == .some("user 0") && names.present(7) == .some("user 7"))
        #expect(await names.name(of: 7) == "user 7")
        #expect(count.withLock { $0 } == 2)
    }
}
