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
 * Time that its present threads have run so far, s. The scheduler counts it in nanoseconds: `cpuS` adds up hundredths that
 * were found running, which says little about a process that wakes for less.
 */
export function ranS(pid) {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e9
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
