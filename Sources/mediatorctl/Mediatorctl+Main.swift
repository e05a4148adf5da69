import Glibc
import MediatorCommands

@main
enum Main {
    static func main() async {
        exit(await Mediatorctl.main())
    }
}
