import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import Foundation
import FoundationNetworking
import OpenCombine
import OpenCombineFoundation
import Testing

// MARK: "Context": sign in

private enum SignIn {
    struct State: Equatable {
        var email = ""
        var password = ""
        // Completed: the server's answer.
        var status = Status.editing
    }

    enum Status: Equatable {
        case editing
        case submitting
        case signedIn(String)
        case failed(String)
    }

    enum Event {
        case signIn
        case didSignIn(String)
        case didFail(String)
    }

    struct Credentials: Codable, Equatable {
        let email: String
        let password: String
    }

    static func reduce(_ state: inout State, _ event: Event) {
        switch event {
        case .signIn: state.status = .submitting
        case .didSignIn(let name): state.status = .signedIn(name)
        case .didFail(let message): state.status = .failed(message)
        }
    }

    /// Accepts one password, and greets with the name before the at sign.
    static func server() throws -> LocalServer {
        try LocalServer { request in
            let credentials = try JSONDecoder().decode(Credentials.self, from: request.body)
            guard request.method == "POST", request.path == "/sign-in", credentials.password == "secret" else {
                return LocalServer.Response(status: 401)
            }
            return try .json(credentials.email.components(separatedBy: "@")[0])
        }
    }

    static func request(_ server: LocalServer, _ state: State) throws -> URLRequest {
        var request = URLRequest(url: try server.url("/sign-in"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(Credentials(email: state.email, password: state.password))
        return request
    }

    static func whenSubmitted(_ server: LocalServer, _ form: Form) -> Feedback<State, Event> {
        switch form {
        case .publisher:
            Feedback(whenBecomesTrue: { $0.status == .submitting }) { state -> AnyPublisher<Event, Never> in
                Result { try Self.request(server, state) }.publisher
                    .flatMap { URLSession.shared.dataTaskPublisher(for: $0).mapError { $0 as any Error } }
                    .tryMap { try URLSession.decode(String.self, from: $0.data, $0.response) }
                    .map { Event.didSignIn($0) }
                    .replaceError(replace: { .didFail($0.localizedDescription) })
            }
        case .async:
            Feedback(whenBecomesTrue: { $0.status == .submitting }) { state async -> Event? in
                do {
                    let (data, response) = try await URLSession.shared.data(for: Self.request(server, state))
                    return .didSignIn(try URLSession.decode(String.self, from: data, response))
                } catch {
                    return .didFail(error.localizedDescription)
                }
            }
        }
    }
}

private final class SignInViewModel: ViewModel<SignIn.State, SignIn.Event> {
    nonisolated init(_ server: LocalServer, _ form: Form) {
        super.init(
            initial: SignIn.State(), feedbacks: [SignIn.whenSubmitted(server, form)],
            reduce: { (state: inout SignIn.State, event: SignIn.Event) in SignIn.reduce(&state, event) })
    }
}

private struct SignInView {
    private let context: Context<SignIn.State, SignIn.Event>

    init(context: Context<SignIn.State, SignIn.Event>) {
        self.context = context
    }

    // Changed: a form of two text fields, which are bindings, and a button.
    var body: (email: Binding<String>, password: Binding<String>, button: Button) {
        (
            context.binding(for: \.email),
            context.binding(for: \.password),
            Button(label: "Sign In", action: context.action(for: .signIn))
        )
    }

    /// The content of the screen.
    var text: String { "\(context.email) \(String(repeating: "*", count: context.password.count)) \(context.status)" }
    var status: SignIn.Status { context.status }
}

extension CombineFeedbackDocumentTests {
    @Test(arguments: Form.allCases) @MainActor
    func `a form is filled in by bindings and sent by a button`(form: Form) async throws {
        let server = try SignIn.server()
        let viewModel = SignInViewModel(server, form)
        let (views, screen) = AsyncStream.makeStream(of: SignInView.self)
        let widget = Widget(viewModel: viewModel) { context in
            SignInView(context: context)
        }
        let rendering = widget.render { screen.yield($0) }
        var texts: [String] = []
        for await view in views {
            texts.append(view.text)
            let form = view.body
            switch (view.status, texts.count) {
            case (.editing, 1): form.email.wrappedValue = "jane@example.com"
            case (.editing, 2): form.password.wrappedValue = "wrong"
            case (.editing, _): form.button.action()
            case (.submitting, _): break
            case (.failed, _) where form.password.wrappedValue == "wrong":
                form.password.wrappedValue = "secret"
                form.button.action()
            case (.failed, _): break
            case (.signedIn, _): screen.finish()
            }
        }
        #expect(
            texts == [
                "  editing", "jane@example.com  editing", "jane@example.com ***** editing",
                "jane@example.com ***** submitting", "jane@example.com ***** failed(\"HTTP status 401\")",
                "jane@example.com ****** failed(\"HTTP status 401\")", "jane@example.com ****** submitting",
                "jane@example.com ****** signedIn(\"jane\")",
            ])
        rendering.cancel()
        await viewModel.stop()
        server.stop()
    }
}
