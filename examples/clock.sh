#!/bin/sh
# A `jsonl` agent in plain shell: answers every task with the time. `type` is always the first member of a line,
# so that a pattern is enough to tell the lines apart.

echo '{"type":"ready","name":"clock"}'
while IFS= read -r line; do
    case $line in
    '{"type":"ping"'*)
        echo '{"type":"pong"}' ;;
    '{"type":"task"'*)
        echo '{"type":"status","text":"Looking at the clock"}'
        printf '{"type":"artifact","text":"%s"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
        echo '{"type":"complete"}' ;;
    esac
done
