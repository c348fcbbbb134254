// What Linux tells of a process in /proc. `pid` may be 'self'. Each throws once the process is gone.
import { readdirSync, readFileSync } from 'node:fs'

/** The kernel counts processor time for programs in hundredths of a second, on every architecture. */
const TICKS_PER_S = 100
/** places of user time in /proc/PID/stat behind the name, own and of ended children; system time is the next */
const OWN = 11
const ENDED = 13

/** User and system time of all threads so far, s. */
export function cpuS(pid) {
  return seconds(pid, OWN)
}

/**
 * Begins to count the time that threads of a process run. The scheduler counts it in nanoseconds: `cpuS` adds up hundredths
 * that were found running, which says little about a process that wakes for less.
 *
 * @returns seconds since then of the threads that are there when it is called
 */
export function startRan(pid) {
  const before = ranOf(pid)
  return () => {
    let nanoseconds = 0
    for (const [thread, now] of ranOf(pid)) nanoseconds += now - (before.get(thread) ?? 0)
    return nanoseconds / 1e9
  }
}

/** Thread → nanoseconds that it has run. */
function ranOf(pid) {
  const ran = new Map()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
      ran.set(thread, Number(nanoseconds))
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error // one that has just ended
    }
  }
  return ran
}

/** User and system time of its child processes that have ended, s. */
export function endedCpuS(pid) {
  return seconds(pid, ENDED)
}

function seconds(pid, place) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // the name, in parentheses, may hold spaces and parentheses
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[place]) + Number(fields[place + 1])) / TICKS_PER_S
}

/** Bytes that it had the kernel write to disks. */
export function writtenBytes(pid) {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1])
}

/** A field of /proc/PID/status, such as VmRSS, MiB; NaN when it has none, as processes that are ending. */
export function statusMb(pid, field) {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return line === null ? Number.NaN : Number(line[1]) / 1024
}
