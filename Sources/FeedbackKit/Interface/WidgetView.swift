#if canImport(SwiftUI)
public import SwiftUI

extension Widget: View where Content: View {
    /// The content for the current state, made again for each new state.
    public var body: some View { WidgetBody(widget: self) }
}

/// The storage of the last rendered state.
private struct WidgetBody<Whole: Sendable, Event: Sendable, Content: View>: View {
    let widget: Widget<Whole, Event, Content>
    @SwiftUI.State private var state: Whole?

    var body: some View {
        widget.content(Context(state: state ?? widget.viewModel.state, access: widget.viewModel.loop.access))
            .task { for await state in widget.viewModel.states() { self.state = state } }
    }
}
#endif
