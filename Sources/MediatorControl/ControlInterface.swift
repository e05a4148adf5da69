/// The control interface of mediatord: its name and its definition.
public enum ControlInterface {
    /// The name of the interface.
    public static let name = "io.mediatord.Control"

    /// The definition, as it is also given to `GetInterfaceDescription`.
    ///
    /// Values of any JSON kind are declared `object`, which every implementation of Varlink can parse.
    public static let definition = String(decoding: PackageResources.io_mediatord_Control_varlink, as: UTF8.self)

    /// The qualified name of a method or an error of this interface.
    public static func qualified(_ member: String) -> String { "\(name).\(member)" }
}
