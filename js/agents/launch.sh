# Starts a program as the leader of a process group of its own, in place of this shell: the same pid.
# $1 gets that pid, $2 what the program writes to stderr.
echo $$ > "$1"
exec 2> "$2"
shift 2
if command -v setsid > /dev/null; then exec setsid "$@"; fi
if command -v perl > /dev/null; then exec perl -e 'setpgrp(0, 0); exec @ARGV' "$@"; fi
exec "$@"
