#if canImport(SwiftUI)
public import SwiftUI

extension Widget: View where Content: View {
    /// The content for the current state, made anew for each new one.
    public var body: some View { WidgetBody(widget: self) }
}

/// Holds the state that was rendered last.
private struct WidgetBody<Whole: Sendable, Event: Sendable, Content: View>: View {
    let widget: Widget<Whole, Event, Content>
    @SwiftUI.State private var state: Whole?

    var body: some View {
        widget.content(Context(state: state ?? widget.viewModel.state, reach: widget.viewModel.machine.reach))
            .task { for await state in widget.viewModel.states() { self.state = state } }
    }
}
#endif
