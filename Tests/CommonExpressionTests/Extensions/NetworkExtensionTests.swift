import CommonExpression
import Testing

@Suite("Network extension")
struct NetworkExtensionTests {
    @Test(arguments: [
        ("string(ip('2001:0DB8:0:0:1:0:0:1'))", #""2001:db8::1:0:0:1""#),
        ("string(ip('0:0:1:0:0:0:0:0'))", #""0:0:1::""#),
        ("string(ip('1:2:3:4:5:6:7:8'))", #""1:2:3:4:5:6:7:8""#),
        ("string(ip('1:0:3:4:5:6:7:8'))", #""1:0:3:4:5:6:7:8""#),
        ("string(ip('::1.2.3.4'))", #""::102:304""#), ("string(ip('::'))", #""::""#), ("ip('::1').family()", "6"),
        ("ip.isCanonical('::1') && !ip.isCanonical('0::1') && ip.isCanonical('10.0.0.1')", "true"),
        (
            "['1.2.3', '01.2.3.4', '1.2.3.4 ', '256.1.1.1', '', ':', '1::2::3', '::1%lo', '::ffff:1.2.3.4', '1.2.3.4\\u0000']"
                + ".exists(x, isIP(x))", "false"
        ),
        (
            "['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/+8', '10.0.0.0/8/8', '::/129', 'x/8']"
                + ".exists(x, isCIDR(x))", "false"
        ),
        ("isIP('::') && isCIDR('::/0') && isCIDR('10.1.2.3/32')", "true"),
        ("ip('127.255.0.1').isLoopback() && !ip('::2').isLoopback()", "true"),
        (
            "['255.255.255.255', '0.0.0.0', '127.0.0.1', '224.0.0.1', '169.254.0.1', '::', '::1', 'ff02::1', 'fe80::1']"
                + ".exists(x, ip(x).isGlobalUnicast())", "false"
        ),
        ("ip('febf::1').isLinkLocalUnicast() && !ip('fec0::1').isLinkLocalUnicast()", "true"),
        ("string(cidr('10.1.2.3/12').masked())", #""10.0.0.0/12""#),
        ("string(cidr('10.1.2.3/0').masked())", #""0.0.0.0/0""#),
        ("string(cidr('2001:db8:ffff::/33').masked())", #""2001:db8:8000::/33""#),
        ("cidr('0.0.0.0/0').containsIP('255.1.2.3') && !cidr('0.0.0.0/0').containsIP('::1')", "true"),
        ("cidr('10.1.2.3/8').containsIP('10.9.9.9') && cidr('10.1.2.3/8').containsCIDR('10.1.2.3/9')", "true"),
        ("cidr('10.0.0.1/8').ip() == ip('10.0.0.1')", "true"), ("type(ip('::1')) == net.IP", "true"),
        ("[ip('::1'), ip('0::1'), ip('::2')].distinct().map(a, string(a))", #"["::1", "::2"]"#),
        ("event.tags.exists(ip, ip.startsWith('a'))", "true"),
        ("'%s'.format([string(ip('10.0.0.1'))])", #""10.0.0.1""#), ("ip('0::1').address", #""::1""#),
    ])
    func `addresses and ranges are read and compared`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("ip(event.tags[0])", #"invalidArgument at ip(event.tags[0]): "a" is not an IP address"#),
        ("ip(event.tags[0] + '%a')", #"invalidArgument at ip(event.tags[0] + '%a'): "a%a" has a zone"#),
        (
            "cidr(event.tags[0] + '/8')",
            #"invalidArgument at cidr(event.tags[0] + '/8'): "a/8" begins with something that"#
        ),
        ("cidr('1.2.3.4/' + string(count) + '99')", "invalidArgument"), ("ip(dyn(1))", "noSuchOverload"),
        ("isIP(dyn(1))", "noSuchOverload"), ("dyn(1).isLoopback()", "noSuchOverload"),
        ("cidr('10.0.0.0/8').containsIP(event.tags[0])", "invalidArgument"),
        ("dyn('10.0.0.0/8').masked()", "noSuchOverload"), ("dyn('::1').isLoopback()", "noSuchOverload"),
        ("dyn(ip('::1')).masked()", "noSuchOverload"), ("isIP(dyn(ip('::1')))", "noSuchOverload"),
        ("string(dyn(state))", "noSuchOverload"),
    ])
    func `a text that is no address is an error`(source: String, error: String) throws {
        let failure = try Fixture.failure(source)
        #expect(failure.hasPrefix(error))
    }

    @Test(arguments: [
        ("ip(1)", "noOverload"), ("'::1'.isLoopback()", "noOverload"), ("ip('::1') == '::1'", "noOverload"),
        ("cidr('::/0').contains('::1')", "noOverload"), ("ip('::1').port", "unknownField"),
        ("net.Mac", "unknownVariable"),
    ])
    func `a wrong use is found before evaluation`(source: String, code: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(code) == true, "\(problems)")
    }

    @Test func `a wrong name leads to the right one`() throws {
        let problem = try #require(Fixture.problems("cidr('::/0').contains('::1')").first)
        #expect(problem.contains("containsIP() takes an address"), "\(problem)")
    }
}
