import MediatorDaemon

await DaemonCommand.start()
