"""Runs a command on a pseudo-terminal and types keys into it.

Usage: terminal.py COMMAND STEPS, both JSON. COMMAND is a list of arguments; STEPS is a list of [text, keys]: once the terminal has shown
`text` after what the step before waited for, `keys` are typed. Prints JSON: what the terminal has shown, and the exit code.
"""
import json
import os
import pty
import select
import sys
import time

command, steps = (json.loads(argument) for argument in sys.argv[1:])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)

shown = b""
deadline = time.monotonic() + 300


def read() -> bool:
    """Waits for more; False at the end."""
    global shown
    if not select.select([terminal], [], [], 0.1)[0]:
        return time.monotonic() < deadline
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # Linux says so when the last process has closed its side.
        return False
    shown += piece
    return piece != b""


position = 0
for text, keys in steps:
    while (found := shown.find(text.encode(), position)) < 0:
        if not read():
            break
    if found >= 0:
        position = found + len(text.encode())
    os.write(terminal, keys.encode())
while read():
    pass
if time.monotonic() >= deadline:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
print(json.dumps({"shown": shown.decode(errors="replace"), "code": os.waitstatus_to_exitcode(status)}))
