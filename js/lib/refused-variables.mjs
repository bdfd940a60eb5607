// Variables that let a command run more than its text shows. Rules, gates and the user's consent judge only the
// command, so environments for programs must not set them. `*` matches any suffix.

/** @type {readonly (readonly [why: string, names: string])[]} */
const REFUSED_VARIABLES = [
  ["which programs are found", "PATH PATHEXT COMSPEC SHELL"],
  [
    "whose settings are read",
    "HOME USERPROFILE XDG_CONFIG_HOME XDG_CONFIG_DIRS KUBECONFIG COPILOT_HOME",
  ],
  [
    "which settings of tools are read",
    "CURL_HOME WGETRC RIPGREP_CONFIG_PATH AWS_CONFIG_FILE DOCKER_CONFIG PSQLRC CARGO_HOME GRADLE_USER_HOME",
  ],
  ["what a shell reads first", "BASH_ENV ENV ZDOTDIR SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND IFS"],
  [
    "what each program loads",
    "LD_* DYLD_* GCONV_PATH OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES",
  ],
  [
    "what Node.js runs",
    "NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NPM_CONFIG_* BUN_OPTIONS",
  ],
  [
    "what Python runs",
    "PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONBREAKPOINT PYTHONWARNINGS PYTHONINSPECT",
  ],
  [
    "what Perl, Ruby and PHP run",
    "PERL5OPT PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB PHPRC PHP_INI_SCAN_DIR BUNDLE_GEMFILE",
  ],
  [
    "what Java and others run",
    "CLASSPATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS DOTNET_STARTUP_HOOKS LUA_INIT* LUA_PATH* LUA_CPATH* ERL_*",
  ],
  [
    "what Git runs",
    "GIT_SSH* GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND GIT_TRACE*",
  ],
  [
    "where Git finds its programs and settings",
    "GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG* GIT_DIR GIT_COMMON_DIR",
  ],
  [
    "what builds run",
    "MAKEFLAGS GNUMAKEFLAGS MAKEFILES CC CXX RUSTC* RUSTDOC CARGO_BUILD_* CARGO_TARGET_* GOFLAGS",
  ],
  [
    "which editor, pager or browser opens",
    "EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER SUDO_ASKPASS GH_PAGER VIMINIT EXINIT",
  ],
  [
    "which options are added to those of a tool",
    "MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS PYTEST_ADDOPTS PYTEST_PLUGINS",
  ],
  [
    "which programs tools start, and their further options",
    "RSYNC_RSH RSYNC_CONNECT_PROG SVN_SSH CVS_RSH HGRCPATH TAR_OPTIONS FZF_DEFAULT_*",
  ],
];

const PATTERNS = REFUSED_VARIABLES.map(([why, names]) => {
  const any = names.split(" ").map((name) => name.replace("*", ".*"));
  return /** @type {const} */ ([new RegExp(`^(?:${any.join("|")})$`, "i"), why]);
});

/** @param {string} name of a variable @returns {string} its effect on a program; "" if it is allowed */
export const refusalReason = (name) => PATTERNS.find(([pattern]) => pattern.test(name))?.[1] ?? "";

/**
 * Whether a plan may not set it, since tap's own git works for the plan and has such variables. Author and
 * committer are the plan's.
 * @param {string} name of a variable
 */
export const isReservedForGit = (name) =>
  /^GIT_(?!(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)$)/i.test(name);

/** @param {Record<string, string>} [env] of a plan @returns {Record<string, string>} the variables that are safe for git */
export const dropReservedForGit = (env = {}) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isReservedForGit(name)));
