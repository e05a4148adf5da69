import SideEffects
import Testing

/// Tests of an answer that arrives in lines and pieces, without a connection.
@Suite struct `An answer over HTTP` {
    /// Takes lines of a header. Returns the step after the last line that was taken.
    private func take(_ lines: [String], into response: inout HTTPResponse) -> HTTPResponse.Step {
        for line in lines where response.take(line: Array("\(line)\r\n".utf8)) == .end { return .end }
        return .goOn
    }

    @Test func `keeps the fields of the final header, joined by name`() {
        var response = HTTPResponse(bodyLimit: 10)
        let lines = ["HTTP/1.1 103 Early", "X-Early: 1", "", "HTTP/1.1 200 OK", "X-A:  b \t", "x-a:c", "no field", ""]
        #expect(take(lines, into: &response) == .goOn)
        #expect(response.status == 200 && response.headers == ["x-a": "b, c"] && response.hasHeader)
        #expect(response.endsWithConnection)
        // Fields after the body are read and discarded.
        #expect(take(["X-Late: 1"], into: &response) == .goOn)
        #expect(response.headers["x-late"] == nil)
    }

    @Test(arguments: [
        (["Content-Length: 3"], "200 OK"), (["Transfer-Encoding: chunked"], "200 OK"), ([], "204 No Content"),
        ([], "304 Not Modified"),
    ])
    func `determines its own end`(fields: [String], status: String) {
        var response = HTTPResponse(bodyLimit: 10)
        #expect(!response.endsWithConnection)
        #expect(take(["HTTP/1.1 \(status)"] + fields + [""], into: &response) == .goOn)
        #expect(!response.endsWithConnection)
    }

    @Test(arguments: [
        (301, true, true), (301, false, false), (303, true, true), (304, true, false), (200, true, false),
    ])
    func `ends at a redirect that must be followed`(status: Int, isFollowed: Bool, ends: Bool) {
        var response = HTTPResponse(bodyLimit: 10, endsAtRedirect: isFollowed)
        let step = take(["HTTP/1.1 \(status) Words", "Location: /there", ""], into: &response)
        #expect((step == .end) == ends && (response.ending == .redirect) == ends)
    }

    @Test func `keeps a body up to its limit`() {
        var response = HTTPResponse(bodyLimit: 4)
        #expect(response.take(body: [1, 2, 3]) == .goOn && response.take(body: [4]) == .goOn)
        #expect(response.ending == nil && response.take(body: []) == .goOn)
        #expect(response.take(body: [5, 6]) == .end && response.body == [1, 2, 3, 4])
        #expect(response.ending == .largeBody)
    }

    @Test func `bounds the header, and the fields after the body`() {
        let full = (1...HTTPResponse.fieldLimit).map { "X-\($0): 1" }
        for more in [0, 1] {
            var response = HTTPResponse(bodyLimit: 4)
            let step = take(["HTTP/1.1 200 OK"] + full + Array(repeating: "Y: 1", count: more) + [""], into: &response)
            #expect((step == .end) == (more == 1) && (response.ending == .largeHeader) == (more == 1))
        }
        let large = "X: " + String(repeating: "x", count: HTTPResponse.headerLimit)
        var header = HTTPResponse(bodyLimit: 4)
        #expect(take(["HTTP/1.1 200 OK", large], into: &header) == .end && header.ending == .largeHeader)
        var trailer = HTTPResponse(bodyLimit: 4)
        #expect(take(["HTTP/1.1 200 OK", "", large], into: &trailer) == .end && trailer.ending == .largeHeader)
        // An interim header does not count towards the final one.
        var interim = HTTPResponse(bodyLimit: 4)
        let early = ["HTTP/1.1 103 Early"] + full + [""]
        #expect(take(early + early + ["HTTP/1.1 200 OK"] + full + [""], into: &interim) == .goOn)
    }
}
