#!/bin/sh
# A `text` agent: the message comes on standard input, standard output is the answer.
#
#   baton serve --agent 'hello=./examples/hello.sh'
#   baton send http://127.0.0.1:8420/a2a/hello "Ada"

name=$(cat)
if [ -z "$name" ]; then
    # Status 64 is EX_USAGE: the task becomes FAILED, with this line in its status message.
    echo "Tell me your name." >&2
    exit 64
fi
echo "Hello, $name."
