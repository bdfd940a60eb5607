# Stands in front of bubblewrap on the PATH of a server, with $program and $walls set above. The CLI says in which
# folder it starts a command; what tap has written for that folder comes after the CLI's own mounts, and covers them.
# Without that there is no command. An agent's own bubblewrap is what it is everywhere.
if [ -n "$COPILOT_AGENT_SESSION_ID" ] || [ "$*" = --version ]; then exec "$program" "$@"; fi
at=0 skip=0 words= folder= wall= bridge= next=
for word do
  at=$((at + 1))
  if [ "$skip" -gt 0 ]; then
    skip=$((skip - 1))
  else
    case $word in
      --setenv) skip=2 ;;
      --chdir) skip=1; eval "folder=\${$((at + 1))-}" ;;
      --)
        if [ ! -r "$walls$folder/wall" ]; then
          echo "tap: no sandbox is known for a command in '$folder'" >&2
          exit 1
        fi
        . "$walls$folder/wall"
        words="$words $wall"
        next=$bridge skip=$#
        ;;
    esac
  fi
  words="$words \"\${$at}\" $next" next=
done
if [ -z "$wall" ]; then
  echo "tap: a call of bubblewrap that cannot be read" >&2
  exit 1
fi
eval "exec \"\$program\" $words"
