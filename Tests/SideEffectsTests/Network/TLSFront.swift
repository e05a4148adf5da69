import CommonExpression
import SideEffects

/// A program that accepts TLS connections on 127.0.0.1, and forwards their content to a plain server on this machine.
///
/// It uses Python's `ssl`, and so OpenSSL, on the server's side.
final class TLSFront: Sendable {
    /// The port on which it listens.
    let port: Int
    private let run: Sensing

    /// Starts it in front of a plain server.
    ///
    /// - Parameter isCutOff: Whether a connection ends without the TLS alert `close_notify`.
    init(_ certificate: Certificate, before plain: Int, isCutOff: Bool) async throws {
        run = Sensing(
            RunEffect(),
            [
                "command": .list(
                    [
                        "python3", "-c", Self.program, certificate.path, certificate.key, "\(plain)",
                        isCutOff ? "cut" : "",
                    ]
                    .map { .string($0) })
            ])
        await run.until { $0.names.contains("onLine") || $0.isOver }
        guard let port = run.text(0, "line").flatMap({ Int($0) }) else {
            throw Certificate.Failure(message: run.last("error") ?? "the program said no port")
        }
        self.port = port
    }

    /// Ends it with all its connections.
    func stop() async { await run.cancel() }

    private static let program = """
        import socket, ssl, sys, threading

        certificate, key, plain, cut = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)

        def pump(source, target):
            try:
                while piece := source.recv(65536):
                    target.sendall(piece)
            except OSError:
                pass

        def serve(connection):
            try:
                secure = context.wrap_socket(connection, server_side=True)
                inner = socket.create_connection(("127.0.0.1", int(plain)))
            except OSError:
                return connection.close()

            def upwards():
                pump(secure, inner)
                # Closing it would not wake the other thread, which waits for it.
                try:
                    inner.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

            threading.Thread(target=upwards, daemon=True).start()
            pump(inner, secure)
            try:
                if not cut:
                    secure.unwrap()
                secure.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            secure.close()
            inner.close()

        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
