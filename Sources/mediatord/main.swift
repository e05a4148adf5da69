import MediatorDaemon

DaemonCommand.launch()
