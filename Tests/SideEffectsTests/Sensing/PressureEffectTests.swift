import CommonExpression
import FeedbackKitTesting
import Glibc
import SideEffects
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `The side effect pressure` {
    private let clock = ManualClock()

    /// Makes it measure again.
    private func again(_ sensing: Sensing) async {
        await clock.nextDeadline(in: .seconds(10))
        clock.advance(by: .seconds(10))
        await clock.nextDeadline(in: .seconds(10))
    }

    private func write(_ some: String, _ path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let text = Array(
            "some avg10=\(some) avg60=2.50 avg300=3.00 total=4\nfull avg10=0.25 avg60=0.50 avg300=0.75 total=1\n".utf8)
        Glibc.write(file, text, text.count)
        close(file)
    }

    @Test(
        .enabled(if: !contents("/proc/pressure/cpu").isEmpty, "SKIPPED: this kernel keeps no account of pressure"),
        arguments: ["cpu", "memory", "io"])
    func `reports the kernel's values`(resource: String) async throws {
        let sensing = Sensing(PressureEffect(), ["of": .string(resource)], clock: clock)
        await sensing.reported(1)
        #expect(sensing.names == ["onSample"] && sensing.text(0, "of") == resource)
        for field in ["someAvg10", "someAvg60", "someAvg300", "fullAvg10", "fullAvg60", "fullAvg300"] {
            guard case .double(let value)? = sensing.value(0, field) else {
                Issue.record("no \(field)")
                continue
            }
            #expect((0...100).contains(value))
        }
        // The slowest value equals the one in the file, except for a change in between.
        guard case .double(let average)? = sensing.value(0, "someAvg300") else { return }
        let written = contents("/proc/pressure/\(resource)").split(separator: " ").first { $0.hasPrefix("avg300=") }
        #expect(abs(average - (Double(written?.dropFirst(7) ?? "") ?? -1_000)) < 5)
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `reports once when it rises above one limit, and once when it falls below the other`() async {
        let folder = TemporaryDirectory()
        write("19.99", folder("io"))
        let sensing = Sensing(
            PressureEffect(directory: folder.path), ["of": .string("io"), "above": .double(20)], clock: clock)
        await sensing.reported(2)
        for value in ["20.00", "20.01", "90.00", "15.00", "14.99", "0.00"] {
            write(value, folder("io"))
            await again(sensing)
        }
        #expect(
            sensing.names == [
                "onBelow", "onSample", "onSample", "onAbove", "onSample", "onSample", "onSample", "onBelow", "onSample",
                "onSample",
            ])
        #expect(sensing.value(3, "someAvg10") == .double(20.01) && sensing.value(3, "fullAvg300") == .double(0.75))
        await sensing.cancel()
    }

    @Test func `a kernel without pressure is one fault with a remedy`() async {
        let folder = TemporaryDirectory()
        let sensing = Sensing(PressureEffect(directory: folder.path), ["of": .string("cpu")], clock: clock)
        await again(sensing)
        #expect(sensing.failures.count == 1 && sensing.failures[0].contains("psi=1"))
        // Any other format is also a fault.
        for text in [
            "some avg10=x avg60=1 avg300=1", "full avg10=1 avg60=1 avg300=1", "", "some avg10=nan avg60=1 avg300=1",
        ] {
            let file = open(folder("cpu"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            Glibc.write(file, text, text.utf8.count)
            close(file)
            await again(sensing)
            #expect(sensing.failures.last?.contains("not have the format of pressure files") == true)
        }
        write("1.00", folder("cpu"))
        await again(sensing)
        #expect(sensing.names == ["onSample"])
        await sensing.cancel()
    }
}
