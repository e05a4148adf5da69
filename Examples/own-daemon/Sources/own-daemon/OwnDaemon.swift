import MediatorDaemon

@main
struct OwnDaemon {
    static func main() {
        DaemonCommand.launch(
            kinds: [
                .system(
                    "speaker", description: "Regulates its volume to a target.", parameters: SpeakerParameters.self,
                    defaults: SpeakerParameters(), states: [VolumeState.self],
                    events: [IncreaseEvent.self, DecreaseEvent.self], makeSpeaker),
                .loop(
                    "traffic-light", parameters: LightParameters.self, state: Light.self, event: LightEvent.self,
                    makeTrafficLight),
            ],
            effects: [ChimeEffect()])
    }
}
