# Ends the process groups that a killed process leaves behind (reaper.mjs). On stdin it is told of them:
# "+ <group>" of one that has begun, "- <group>" of one that is over. The end of stdin means that its
# starter is gone: what is left gets SIGTERM, and SIGKILL after $1 tenths of a second.
#
# A shell, since it waits beside every gateway that has started a provider: a Node.js would take forty
# times the memory. Read whole before it begins: the file may be replaced meanwhile.

without() {
  kept=
  for one in $groups; do [ "$one" = "$1" ] || kept="$kept $one"; done
  groups=$kept
}

# A number that no longer means a group of ours is forgotten at once: it may be given to others.
left() {
  kept=
  for one in $groups; do kill -0 "-$one" 2> /dev/null && kept="$kept $one"; done
  groups=$kept
  [ -n "$groups" ]
}

signal() {
  for one in $groups; do kill "-$1" "-$one" 2> /dev/null; done
}

main() {
  groups=
  while read -r sign group; do
    without "$group"
    [ "$sign" = + ] && groups="$groups $group"
  done
  left && signal TERM
  tenths=$1
  # A second for what SIGKILL ends: a group of zombies that nobody reaps is not waited for.
  while [ "$tenths" -gt -10 ] && left; do
    [ "$tenths" -eq 0 ] && signal KILL
    tenths=$((tenths - 1))
    sleep 0.1
  done
  exit 0
}

main "$@"
