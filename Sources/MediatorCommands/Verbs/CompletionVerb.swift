import ArgumentParser

/// `mediatorctl completion`
struct CompletionVerb: LocalVerb {
    /// A shell that can be taught.
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the script that completes mediatorctl in a shell.",
        discussion: """
            It completes verbs and options, and the names in the daemon: systems, buses, links, events, fields and \
            states. Without a daemon it completes no names; a shell waits for one for a second and a half at most.

            EXAMPLES
              source <(mediatorctl completion bash)
              mediatorctl completion bash \\
                  > /usr/share/bash-completion/completions/mediatorctl
              mediatorctl completion zsh > /usr/share/zsh/vendor-completions/_mediatorctl
              mediatorctl completion fish > ~/.config/fish/completions/mediatorctl.fish

            \(CommandStatus.help([.success, .usage, .notWritten]))
            """
    )

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    var isJSON: Bool { false }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try environment.write(Self.script(shell))
        return .success
    }

    /// The script of a shell.
    static func script(_ shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    /// The program proposes whole words; bash expects the rest behind the last character at which it breaks words.
    private static let bash = #"""
        # bash completion for mediatorctl
        _mediatorctl() {
            local line=${COMP_LINE:0:COMP_POINT} candidate meaning prefix='' rest breaks=''
            rest=${line##*[[:space:]]}
            [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
            [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
            if [[ -n $breaks && $rest == *[$breaks]* ]]; then
                prefix=${rest%"${rest##*[$breaks]}"}
            fi
            COMPREPLY=()
            while IFS=$'\t' read -r candidate meaning; do
                case $candidate in
                    :files)
                        mapfile -t COMPREPLY < <(compgen -f -- "$2")
                        compopt -o filenames 2>/dev/null
                        return ;;
                    :directories)
                        mapfile -t COMPREPLY < <(compgen -d -- "$2")
                        compopt -o filenames 2>/dev/null
                        return ;;
                esac
                [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
                COMPREPLY+=("${candidate#"$prefix"}")
            done < <("$1" complete --line "$line" 2>/dev/null)
        }
        complete -F _mediatorctl mediatorctl

        """#

    private static let zsh = #"""
        #compdef mediatorctl
        _mediatorctl() {
            local -a whole open
            local line candidate
            for line in "${(@f)$("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
                case $line in
                    (:files) compset -P '--*='; _files; return ;;
                    (:directories) compset -P '--*='; _files -/; return ;;
                    ('') continue ;;
                esac
                candidate=${${line%%$'\t'*}//:/\\:}
                [[ $line == *$'\t'* ]] && candidate+=:${line#*$'\t'}
                if [[ ${line%%$'\t'*} == *= ]]; then open+=("$candidate"); else whole+=("$candidate"); fi
            done
            _describe -V mediatorctl whole -- open -S ''
        }
        if [[ $funcstack[1] == _mediatorctl ]]; then
            _mediatorctl "$@"
        else
            compdef _mediatorctl mediatorctl
        fi

        """#

    private static let fish = #"""
        # fish completion for mediatorctl
        function __mediatorctl_complete
            set -l words (commandline -opc)
            set -l program $words[1]
            set -e words[1]
            set -l current (commandline -ct)
            set -l lines ($program complete -- $words "$current" 2>/dev/null)
            switch "$lines[1]"
                case ':files'
                    for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current"))
                        printf '%s%s\n' (string match -r '^--[^=]*=' -- "$current") $path
                    end
                case ':directories'
                    for path in (__fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$current") '')
                        printf '%s%s\n' (string match -r '^--[^=]*=' -- "$current") $path
                    end
                case '*'
                    printf '%s\n' $lines
            end
        end
        complete -c mediatorctl -f -a '(__mediatorctl_complete)'

        """#
}
