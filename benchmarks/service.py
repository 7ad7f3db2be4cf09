"""The service under load on loopback: requests a second, their times, and how many failed.

Clients keep their connection and ask again as soon as they are answered: as many requests are under way as there are
clients. They are a process of their own on the same cores, so what the service could do alone is more.

--soak goes on for ten minutes with notes of many more words, and tells how the memory went: what is kept of each word
is bounded, so it rises while words are new, and then must stay where it is.
"""

import argparse
import http.client
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from benchmarks import RESULTS
from deident.corpus import make
from deident.document import Document, corpus_hash

NOTES = 200
SOAKED, SOAK_SECONDS, SAMPLES = 1500, 600.0, 20
LEVEL = 0.05  # how much the memory may rise over the second half of a soak


def ask_until(port: int, bodies: list[bytes], end: float, first: int) -> tuple[list[float], int]:
    """One client: how long each request took, and how many were not answered by 200."""
    times: list[float] = []
    errors = 0
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    place = first
    while time.perf_counter() < end:
        begin = time.perf_counter()
        try:
            wire.request("POST", "/scrub", bodies[place % len(bodies)], {"Content-Type": "text/plain"})
            answer = wire.getresponse()
            answer.read()
            errors += answer.status != 200
        except (OSError, http.client.HTTPException):
            errors += 1
            wire.close()
        times.append(time.perf_counter() - begin)
        place += 1
    wire.close()
    return times, errors


def resident(process: int) -> int:
    """Megabytes of a process and its workers, shared pages counted once (PSS)."""
    total = 0
    children = [int(part) for part in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    for each in (process, *children):
        rows = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total // 1024


def watched(process: int, end: float, every: float) -> list[tuple[float, int]]:
    """The memory of a process and its workers from now on, and when it was."""
    begin = time.perf_counter()
    rows = [(0.0, resident(process))]
    while (now := time.perf_counter()) < end:
        time.sleep(max(0.0, min(every, end - now)))
        rows.append((time.perf_counter() - begin, resident(process)))
    return rows


def course(rows: list[tuple[float, int]]) -> list[str]:
    """How the memory went, as a picture in letters, and whether it is level in the second half."""
    most = max(size for _, size in rows)
    lines = [f"  {when:5.0f} s {size:6} MB {'#' * round(50 * size / most)}" for when, size in rows]
    half = [size for when, size in rows if when >= rows[-1][0] / 2]
    rise = half[-1] / half[0] - 1
    verdict = "level" if rise <= LEVEL else "NOT level"
    return [*lines, f"  over the second half {rise:+.1%}: {verdict} (at most {LEVEL:.0%})"]


def loaded(documents: list[Document], *, workers: int, clients: int, seconds: float, soak: bool = False) -> list[str]:
    bodies = [doc.text.encode() for doc in documents]
    command = [sys.executable, "-m", "deident", "serve", "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        stream = process.stderr
        line = ""
        while "serving on" not in line:
            line = stream.readline()
            if not line:
                raise SystemExit("the service did not start")
        port = int(line.rsplit(":", 1)[1])
        threading.Thread(target=lambda: [None for _ in stream], daemon=True).start()  # its log, read and left
        ask_until(port, bodies, time.perf_counter() + 1, 0)
        before = resident(process.pid)
        begin = time.perf_counter()
        with ThreadPoolExecutor(clients + 1) as pool:
            jobs = [pool.submit(ask_until, port, bodies, begin + seconds, place * 7) for place in range(clients)]
            memory = pool.submit(watched, process.pid, begin + seconds - 1, seconds / SAMPLES if soak else seconds)
            results = [job.result() for job in jobs]
        took = time.perf_counter() - begin
        after = resident(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    times = sorted(each for row, _ in results for each in row)
    errors = sum(count for _, count in results)
    mean = sum(map(len, bodies)) / len(bodies)
    return [
        f"{workers} workers, {clients} clients, {took:.0f} s; notes of {mean:,.0f} bytes on average",
        f"requests          {len(times):,} ({len(times) / took:,.0f} a second), errors {errors}",
        f"milliseconds      p50 {at(times, 0.5):.1f}  p90 {at(times, 0.9):.1f}  p99 {at(times, 0.99):.1f}"
        f"  most {times[-1] * 1000:.1f}",
        f"memory of all     {before} MB before, {after} MB after",
        f"load of the machine while it ran: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        *(course(memory.result()) if soak else ()),
    ]


def at(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(share * len(times)))] * 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, help="20, or 600 of a soak")
    parser.add_argument("--soak", action="store_true", help="long, with many words, and how the memory went")
    parser.add_argument("--record", action="store_true", help="write docs/results/service.md")
    given = parser.parse_args()
    seconds = given.seconds or (SOAK_SECONDS if given.soak else 20.0)
    documents = list(make.notes(SOAKED if given.soak else NOTES, seed=11))
    text = "\n".join(loaded(documents, workers=given.workers, clients=given.clients, seconds=seconds, soak=given.soak))
    print(text)
    if given.record:
        RESULTS.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.service {'--soak ' if given.soak else ''}--seconds {seconds:g} --record"
        facts = f"{date.today()}, Python {platform.python_version()}; synthetic notes {corpus_hash(documents)[:16]}"
        page = f"# service: `{command}`\n\n{facts}\n\n```\n{text}\n```\n"
        kept = RESULTS / ("service-soak.md" if given.soak else "service.md")
        kept.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
