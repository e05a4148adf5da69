import CommonExpression
import Testing

@Suite("Products of durations, powers and texts of durations")
struct NumberExtensionTests {
    @Test(arguments: [
        ("duration('5s') * 3", "15s"), ("3 * duration('5s')", "15s"), ("duration('5s') * -2", "-10s"),
        ("duration('10s') * 1.5", "15s"), ("1.5 * duration('10s')", "15s"), ("duration('10s') * 0.3", "3s"),
        ("duration('10s') * -0.1", "-1s"), ("duration('1ns') * 0.5", "0.000000001s"), ("duration('1ns') * 0.4", "0s"),
        ("duration('-1ns') * 0.5", "-0.000000001s"), ("duration('1h') * 0.0", "0s"), ("duration('0s') * 1e300", "0s"),
        ("duration('1s') * 5e-324", "0s"), ("duration('1s') * 1e-300", "0s"), ("duration('1ns') * 9e18", "9000000000s"),
        ("duration('1ns') * 1180591620717411303424.0", "overflow"),
        ("duration('315576000000s') * 1.0", "315576000000s"),
        ("duration('315575999999.999999999s') * 1.0", "315575999999.999999999s"),
        ("duration('10s') / 4", "2.5s"), ("duration('10s') / -3", "-3.333333333s"), ("duration('0s') / 3", "0s"),
        ("duration('1s') * count * 2", "4s"), ("dyn(duration('1s')) * 2", "2s"), ("dyn(2) * dyn(duration('1s'))", "2s"),
        ("(now - state.since) / count", "150s"), ("dyn(2) * count == 4 ? duration('1s') : duration('2s')", "1s"),
        ("duration('1s') * 9223372036854775807", "overflow"), ("duration('315576000000s') * 1.0000000001", "overflow"),
        ("duration('315576000000s') * 9223372036854775807", "overflow"), ("duration('1s') * 1e300", "overflow"),
        ("duration('1s') * (0.0 / 0.0)", "overflow"), ("duration('1s') * (1.0 / 0.0)", "overflow"),
    ])
    func `a duration is multiplied and divided`(source: String, value: String) throws {
        let result = try Fixture.failure(source)
        #expect(value == "overflow" ? result.hasPrefix("overflow at ") : result == "value duration(\"\(value)\")")
    }

    @Test(arguments: [
        (
            "duration('1s') * 1e300",
            #"overflow at duration('1s') * 1e300: duration("1s") * 1e+300 is out of range for duration"#
        ),
        (
            "duration('1s') / (count - 2)",
            #"divisionByZero at duration('1s') / (count - 2): duration("1s") / 0: division by zero"#
        ),
        (
            "dyn(duration('1s')) / 1.5",
            "noSuchOverload at dyn(duration('1s')) / 1.5: '/' does not take duration and double"
        ),
    ])
    func `a product that is out of range is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source) == error)
    }

    @Test(arguments: [
        (
            "duration('1s') * duration('2s')",
            "noOverload 0..<31 '*' does not take duration and duration; "
                + "write duration('1s').getSeconds() * duration('2s').getSeconds()"
        ),
        (
            "duration('1s') / 1.5",
            "noOverload 0..<20 '/' does not take duration and double; write duration('1s') * (1.0 / 1.5)"
        ),
        (
            "duration('1s') * event.size",
            "noOverload 0..<27 '*' does not take duration and uint; convert it with int(event.size)"
        ),
        ("2u * duration('1s')", "noOverload 0..<19 '*' does not take uint and duration; write 2"),
        ("2 / duration('1s')", "noOverload 0..<18 '/' does not take int and duration"),
        ("dyn(2) / duration('1s')", "noOverload 0..<23 '/' does not take dyn and duration"),
        ("duration('5s') % 2", "noOverload 0..<18 '%' does not take duration and int"),
    ])
    func `another product with a duration is reported with advice`(source: String, problem: String) {
        #expect(Fixture.problems(source) == [problem])
    }

    @Test(arguments: [
        ("count * 2", ValueType.int), ("anything * 2", .dyn), ("duration('1s') * anything", .duration),
        ("duration('1s') * 2", .duration), ("2.0 * duration('1s')", .duration), ("anything / 2", .dyn),
        ("2 / anything", .int), ("pow(2, 3)", .int), ("pow(2.0, 3.0)", .double), ("pow(anything, 3u)", .uint),
    ])
    func `the type of a product is known where the operands are`(source: String, type: ValueType) throws {
        #expect(try Fixture.program(source).type == type)
    }

    @Test(arguments: [
        ("pow(2, 10)", "1024"), ("pow(-2, 3)", "-8"), ("pow(-2, 63)", "-9223372036854775808"), ("pow(0, 0)", "1"),
        ("pow(7, 0)", "1"), ("pow(-1, 9223372036854775807)", "-1"), ("pow(1, 9223372036854775807)", "1"),
        ("pow(0, 9223372036854775807)", "0"), ("pow(3, 39)", "4052555153018976267"),
        ("pow(2u, 63u)", "9223372036854775808u"), ("pow(2.0, 0.5) > 1.41421", "true"), ("pow(2.0, -1.0)", "0.5"),
        ("pow(10.0, 400.0)", #"double("Infinity")"#), ("pow(count, count)", "4"), ("pow(dyn(2), dyn(3))", "8"),
    ])
    func `a power is computed`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("pow(2, 63)", "overflow at pow(2, 63): pow(2, 63) is out of range for int"),
        ("pow(-2, 64)", "overflow"), ("pow(3, 40)", "overflow"), ("pow(10, 9223372036854775807)", "overflow"),
        ("pow(2u, 64u)", "overflow at pow(2u, 64u): pow(2u, 64u) is out of range for uint"),
        ("pow(2, -1)", "invalidArgument at pow(2, -1): pow(2, -1): the exponent of an int must not be negative"),
        ("pow(dyn(2), 3.0)", "noSuchOverload at pow(dyn(2), 3.0): pow() does not take int, double"),
    ])
    func `a power that does not exist is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test(arguments: [
        ("pow(2, 3.0)", "noOverload 0..<11 there is no pow(int, double); pow takes (int, int) or (uint, uint) or "),
        ("math.pow(2, 3)", "unknownFunction 0..<8 unknown function 'math.pow'; did you mean 'pow'?"),
        ("humanize(5)", "noOverload 0..<11 there is no humanize(int); humanize takes duration; "),
    ])
    func `a wrong call is found before evaluation`(source: String, problem: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test(arguments: [
        ("0s", "0 s"), ("1s", "1 s"), ("1.5s", "1.5 s"), ("1.05s", "1 s"), ("59.99s", "59.9 s"), ("1m", "1 min"),
        ("1m30.9s", "1 min 30 s"), ("59m59s", "59 min 59 s"), ("1h", "1 h"), ("1h59s", "1 h"), ("2h5m", "2 h 5 min"),
        ("24h", "1 d"), ("36h", "1 d 12 h"), ("24h30m", "1 d"), ("76h", "3 d 4 h"), ("-2h5m", "-2 h 5 min"),
        ("250ms", "250 ms"), ("-1.5ms", "-1 ms"), ("1500us", "1 ms"), ("999us", "999 us"), ("7ns", "7 ns"),
        ("-0.5s", "-500 ms"), ("87660000h", "3652500 d"), ("-87660000h", "-3652500 d"),
    ])
    func `a duration is written for people`(duration: String, text: String) throws {
        #expect(try Fixture.value("humanize(duration('\(duration)'))") == "\"\(text)\"")
    }

    @Test func `a value that is no duration has no text for people`() throws {
        #expect(
            try Fixture.failure("humanize(dyn(5))")
                == "noSuchOverload at humanize(dyn(5)): humanize() does not take int")
    }
}
