"""Kills a daemon at one of its system calls, counted from the call that creates the record of a command.

    kill_at_call.py PROCESS RECORDS NUMBER

The first call creates a file in the directory RECORDS. The last one closes that file. The program prints "attached", the name
or number of each call, and then "killed" or "written". The call at which it kills is not made.

strace counts the calls of each thread and kind by themselves. Several threads start a command, so no number of strace means the
same call each time.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from pathlib import Path

# ptrace(2), with the numbers of linux/ptrace.h.
SYSCALL, SEIZE, INTERRUPT, GET_SYSCALL_INFO = 24, 0x4206, 0x4207, 0x420E
OPTIONS = 0x1 | 0x8  # Calls have a stop of their own, and new threads are attached, too. New processes are not.
ENTRY, EXIT = 1, 2
WALL = 0x40000000

CALLS = {
    "x86_64": {0: "read", 1: "write", 3: "close", 56: "clone", 257: "openat", 435: "clone3"},
    "aarch64": {56: "openat", 57: "close", 63: "read", 64: "write", 220: "clone", 435: "clone3"},
}[platform.machine()]
# Calls by which threads wait for each other, or learn their number: futex, clock_nanosleep, epoll_*, sched_yield, gettid. They
# change nothing that the next daemon sees, and their number is another one each time.
IGNORED = {"x86_64": {24, 186, 202, 230, 232, 233, 281}, "aarch64": {21, 22, 98, 115, 124, 178}}[platform.machine()]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request: int, thread: int, address: int = 0, data: int = 0) -> int:
    result = libc.ptrace(request, thread, address, data)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def text_at(process: int, address: int) -> str:
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(512).split(b"\0")[0].decode(errors="replace")


class Killer:
    """Follows the calls of all threads of a process."""

    def __init__(self, process: int, records: str, number: int) -> None:
        self.process = process
        self.records = records
        self.number = number
        self.count = 0
        # The thread that creates the record, until it has its descriptor; and that descriptor.
        self.creator = 0
        self.record = -1

    def attach(self) -> None:
        attached: set[int] = set()
        while new := {int(task.name) for task in Path(f"/proc/{self.process}/task").iterdir()} - attached:
            for thread in new:
                ptrace(SEIZE, thread, 0, OPTIONS)
                ptrace(INTERRUPT, thread)
            attached |= new

    def entered(self, thread: int, call: str, arguments: tuple[int, ...]) -> bool:
        """Notes a call that begins. Returns whether it is the last one."""
        if self.count == 0:
            # Only a call that creates a file has O_CREAT.
            if call != "openat" or not arguments[2] & os.O_CREAT:
                return False
            if os.path.dirname(text_at(self.process, arguments[1])) != self.records:
                return False
            self.creator = thread
        self.count += 1
        print(call, flush=True)
        if self.count == self.number:
            os.kill(self.process, signal.SIGKILL)
            print("killed", flush=True)
            return True
        if call == "close" and arguments[0] == self.record:
            print("written", flush=True)
            return True
        return False

    def stopped(self, thread: int, status: int) -> bool:
        """Notes why a thread has stopped, and lets it go on. Returns whether that was the last call."""
        reason, passed_on = status >> 8, 0
        if reason == signal.SIGTRAP | 0x80:
            info = ctypes.create_string_buffer(128)
            ptrace(GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
            kind, number, *arguments = struct.unpack_from("<B23xQ6Q", info.raw)
            is_counted = kind == ENTRY and number not in IGNORED
            if is_counted and self.entered(thread, CALLS.get(number, str(number)), tuple(arguments)):
                return True
            if kind == EXIT and thread == self.creator:
                # The result of the call that created the record.
                self.record, self.creator = number, 0
        elif reason >> 8 == 0:
            passed_on = reason
        ptrace(SYSCALL, thread, 0, passed_on)
        return False

    def run(self) -> None:
        self.attach()
        print("attached", flush=True)
        while True:
            thread, status = os.waitpid(-1, WALL)
            if os.WIFSTOPPED(status):
                try:
                    if self.stopped(thread, status):
                        return
                except ProcessLookupError:
                    # The process ends.
                    continue


if __name__ == "__main__":
    # At the end of this program the threads go on untraced.
    Killer(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])).run()
