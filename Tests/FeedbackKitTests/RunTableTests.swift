import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

/// The table of a loop's side effects, beside a dictionary.
@Suite struct `The table of runs` {
    @Test(arguments: 1...UInt64(100 * soakFactor))
    func `finds what a dictionary finds, and keeps no more gaps than runs`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var table = RunTable<Int>()
        var model: [RunID: Int] = [:]
        var next: UInt64 = 1
        for _ in 0..<300 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                table.append(Int(next), as: RunID(rawValue: next))
                model[RunID(rawValue: next)] = Int(next)
                // Numbers need not follow each other.
                next += UInt64.random(in: 1...3, using: &random)
            case 2:
                // Also runs that were removed before, and those that never were.
                let id = RunID(rawValue: UInt64.random(in: 0...next, using: &random))
                table.remove(id)
                model[id] = nil
            default:
                let id = RunID(rawValue: UInt64.random(in: 0...next, using: &random))
                table[id]? += 1
                model[id]? += 1
            }
            #expect(table.count == model.count)
            #expect(table.places <= 2 * table.count + 16)
        }
        for number in 0...next { #expect(table[RunID(rawValue: number)] == model[RunID(rawValue: number)]) }
        #expect(table.keys == model.keys.sorted { $0.rawValue < $1.rawValue })
    }
}
