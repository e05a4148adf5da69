import Dispatch
import Glibc
import MediatorCommands

@main
enum Main {
    static func main() {
        // Without rights Dispatch cannot give its threads other priorities, which nobody needs, and would say so in the journal.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // Before there is a task, since the threads of Dispatch need /proc, too.
        Mediatorctl.checkCommandLine()
        Task { exit(await Mediatorctl.main()) }
        dispatchMain()
    }
}
