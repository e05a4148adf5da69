import Glibc
import MediatorCommands

@main
enum Main {
    static func main() async {
        // Without rights Dispatch cannot give its threads other priorities, which nobody needs, and would say so in the journal.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        exit(await Mediatorctl.main())
    }
}
