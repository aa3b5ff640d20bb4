"""Runs a command. Writes its process ID to descriptor 3, and at its end what it and the processes it waited for have used."""

import json
import os
import signal
import sys
import threading
import time


def kill_without_parent():
    sys.stdin.read()
    os.kill(pid, signal.SIGKILL)


os.set_inheritable(3, False)
tell = os.fdopen(3, "w")
started = time.time()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)])
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
print(json.dumps({"pid": pid, "startedAtMs": started * 1000}), file=tell, flush=True)
threading.Thread(target=kill_without_parent, daemon=True).start()
_, status, used = os.wait4(pid, 0)
# macOS counts in bytes, Linux in KiB.
unit = 1 if sys.platform == "darwin" else 1024
usage = {
    "exitCode": os.waitstatus_to_exitcode(status),
    "wallMs": (time.time() - started) * 1000,
    "cpuMs": (used.ru_utime + used.ru_stime) * 1000,
    "peakBytes": used.ru_maxrss * unit,
}
print(json.dumps(usage), file=tell, flush=True)
os._exit(0)
