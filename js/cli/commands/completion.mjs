// `completion`: prints the script with which a shell completes commands, options and their values.

import { Output } from "../../views/output.mjs";

// The scripts by which shells ask completion.mjs. A candidate is text from elsewhere: each shell quotes it.

const BASH = `# bash completion for copilot-tap
_copilot_tap() {
  local line kind=""
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$kind" ]; then kind=$line; continue; fi
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <(copilot-tap --complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ "$kind" = files ]; then compopt -o default 2>/dev/null; fi
}
complete -F _copilot_tap copilot-tap
`;

const ZSH = `#compdef copilot-tap
_copilot_tap() {
  local -a lines values shown
  local line
  lines=("\${(@f)$(copilot-tap --complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    [[ -n "$line" ]] || continue
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  }")
  done
  (( \${#values} )) && compadd -l -d shown -a values
  [[ "$lines[1]" == files ]] && _files
  return 0
}
if [[ "\${funcstack[1]}" == _copilot_tap ]]; then
  _copilot_tap "$@"
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit }
  compdef _copilot_tap copilot-tap
fi
`;

const FISH = `# fish completion for copilot-tap
function __copilot_tap_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l lines (copilot-tap --complete $words (commandline -ct) 2>/dev/null)
    if test (count $lines) -gt 1
        printf '%s\\n' $lines[2..-1]
    end
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
    end
end
complete -c copilot-tap -f -a '(__copilot_tap_complete)'
`;

/** @type {Record<string, string>} */
export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };

const SHELLS = Object.keys(SCRIPTS);

/** @param {NodeJS.ProcessEnv} env */
const detectShell = (env) => SHELLS.find((shell) => env.SHELL?.endsWith(shell)) ?? "bash";

/** @param {import("../options.mjs").CommandOptions & {shell?: string}} given */
function run(given) {
  const { shell = detectShell(process.env) } = given;
  const output = new Output(given);
  output.result({ shell, script: SCRIPTS[shell] }, ({ script }) =>
    output.printText(script.trimEnd()),
  );
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "completion [shell]",
  describe: "print the shell completion script",
  about:
    "Prints a script for your shell to load when it starts. It completes commands and options, and the " +
    "tools, sessions and providers of the running gateway.",
  positionals: {
    shell: {
      describe: "bash, zsh or fish; default: that of SHELL",
      choices: SHELLS,
    },
  },
  examples: [
    ["$0 completion bash >> ~/.bashrc", "for bash"],
    ["$0 completion zsh >> ~/.zshrc", "for zsh"],
    ["$0 completion fish > ~/.config/fish/completions/copilot-tap.fish", "for fish"],
  ],
  handler: run,
};
