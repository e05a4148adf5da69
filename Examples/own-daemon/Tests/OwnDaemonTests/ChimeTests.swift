import CommonExpression
import MediatorEffectTesting
import Testing

@testable import own_daemon

@Test func `the chime does what every side effect has to`() async {
    let check = EffectCheck(ChimeEffect(), arguments: ["text": .string("ding")], outcomes: ["onRung"])
    let flaws = await check.flaws()
    #expect(flaws == [])
}
