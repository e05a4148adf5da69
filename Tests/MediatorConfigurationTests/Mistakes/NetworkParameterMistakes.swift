import MediatorConfiguration
import Testing

@Suite struct `Network parameter mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a socket in a relative place",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                socket: { path: disk.sock, mode: "0660" }
            """#,
            #"""
            a.yaml:8:21: error: the parameter 'path' must be a path from the root: it begins with '/' [unsuitable-text]
                  socket: { path: disk.sock, mode: "0660" }
                                  ^~~~~~~~~
            """#),
        Mistake(
            "a host with its port",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                tcp: { host: "localhost:25", port: 25 }
            """#,
            #"""
            a.yaml:8:18: error: the parameter 'host' must be the name or address of a host: without a port, brackets, or anything before it [unsuitable-text]
                  tcp: { host: "localhost:25", port: 25 }
                               ^~~~~~~~~~~~~~
            """#),
        Mistake(
            "a port that there is not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                tcp: { host: localhost, port: 65536 }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'port' must be from 1 to 65535 [out-of-range]
                  tcp: { host: localhost, port: 65536 }
                                                ^~~~~
            """#),
        Mistake(
            "a URL without a scheme",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: localhost/health
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must be a URL: it begins with http://, https://, http+unix:// or https+unix:// [unsuitable-text]
                  http: localhost/health
                        ^~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL with a password",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: "http://me:secret@localhost/"
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must hold no user or password: they belong into the header Authorization [unsuitable-text]
                  http: "http://me:secret@localhost/"
                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL with a space",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost/a b" }
            """#,
            #"""
            a.yaml:8:18: error: the parameter 'url' must be a URL whose special characters are percent-encoded: a space is %20 [unsuitable-text]
                  http: { url: "http://localhost/a b" }
                               ^~~~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL of a socket that is written plainly",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: http+unix:///run/app.sock
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must have the percent-encoded path of a socket as its host: %2Frun%2Fapp.sock [unsuitable-text]
                  http: http+unix:///run/app.sock
                        ^~~~~~~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "statuses that there are not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", expect: 2xx }
            """#,
            #"""
            a.yaml:8:46: error: the parameter 'expect' must be statuses from 100 to 599 and ranges of them, such as "200-299,404" [unsuitable-text]
                  http: { url: "http://localhost", expect: 2xx }
                                                           ^~~
            """#),
        Mistake(
            "a header that belongs to the connection",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", headers: { Content-Length: "3" } }
            """#,
            #"""
            a.yaml:8:47: error: the parameter 'headers' cannot say 'Content-Length', which belongs to the connection [unsuitable-text]
                  http: { url: "http://localhost", headers: { Content-Length: "3" } }
                                                            ^
            """#),
        Mistake(
            "a header with a line break",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", headers: { X-A: "b\r\nX-B: c" } }
            """#,
            #"""
            a.yaml:8:47: error: the parameter 'headers' cannot have a line break or another control character in 'X-A' [unsuitable-text]
                  http: { url: "http://localhost", headers: { X-A: "b\r\nX-B: c" } }
                                                            ^
            """#),
    ]
}
