import FeedbackKitTesting
import Testing

@Suite struct `A failed seed` {
    @Test(arguments: [0, 1, 2, 7, 499, 500]) func `is reduced to the choices that are needed`(needed: Int) {
        var failed = FailedSeed(3, among: 0..<4, message: "it fails", choices: 500)
        var tries = 0
        while let choices = failed.nextTry {
            tries += 1
            failed.note(fails: choices >= needed)
        }
        #expect(tries <= 11)
        #expect(
            failed.text
                == """
                seed 3 fails, after 3 that do not: it fails
                run it again with Simulation(seed: 3), or with explore(seeds: 3..<4)
                its first \(needed) of 500 random choices are enough: Simulation(seed: 3, randomChoices: \(needed))
                """)
    }

    @Test func `is tried at most twenty times`() {
        var failed = FailedSeed(0, among: 0..<1, message: "", choices: .max)
        var tries = 0
        while failed.nextTry != nil {
            tries += 1
            failed.note(fails: tries % 2 == 0)
        }
        #expect(tries == FailedSeed.maximumTries)
    }

    @Test func `counts the seeds behind it within the range`() {
        var failed = FailedSeed(8, among: 5..<12, message: "it fails", choices: 0)
        #expect(failed.others == 9..<12)
        failed.noteOther()
        #expect(failed.nextTry == nil)
        #expect(failed.text.hasSuffix("\nfailures among the next 3 seeds: 1"))
        #expect(FailedSeed(8, among: 5..<1000, message: "", choices: 0).others == 9..<29)
    }
}
