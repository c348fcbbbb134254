import { readdir, readFile, stat } from 'node:fs/promises'
import { ifThere } from '../files/blob-store.js'

/** Process as `/proc` describes it. */
export interface ProcessRow {
  readonly pid: number
  readonly parentPid: number
  readonly groupId: number
  /** start time since boot; pid and start time together identify a process, because pids are reused */
  readonly startTicks: number
  readonly residentBytes: number
}

/** Environment variable with the id of the run, inherited by all its processes. */
export const RUN_MARK = 'DATAPROC_RUN_ID'

/**
 * Returns every process except zombies. Takes about 0.1 ms per process, off the event loop.
 *
 * @see proc_pid_stat(5)
 */
export async function readProcesses(): Promise<ProcessRow[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const pageBytes = await readPageBytes()
  const rows = await Promise.all(
    pids.map(async (pid) => {
      const text = await readGone(readFile(`/proc/${pid}/stat`, 'latin1'))
      return text === undefined ? undefined : parseStat(Number(pid), text, pageBytes)
    }),
  )
  return rows.filter((row) => row !== undefined)
}

/**
 * Returns the id of the run that a process belongs to; undefined for other processes and unreadable
 * environments.
 */
export async function runOfProcess(pid: number): Promise<string | undefined> {
  const text = await readGone(readFile(`/proc/${pid}/environ`, 'latin1'))
  return new RegExp(`(?:^|\\0)${RUN_MARK}=([0-9a-f-]{36})(?:\\0|$)`).exec(text ?? '')?.[1]
}

/** Returns the bytes of deleted files that a process holds open. */
export async function unnamedBytes(pid: number): Promise<number> {
  let bytes = 0
  const names = (await readGone(readdir(`/proc/${pid}/fd`))) ?? []
  for (const name of names) {
    const found = await readGone(stat(`/proc/${pid}/fd/${name}`))
    if (found?.isFile() === true && found.nlink === 0) bytes += found.blocks * 512
  }
  return bytes
}

function parseStat(pid: number, text: string, pageBytes: number): ProcessRow | undefined {
  // the name is in parentheses and may itself contain parentheses
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parentPid, groupId] = fields
  if (state === 'Z' || state === 'X') return undefined
  return {
    pid,
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    startTicks: Number(fields[19]),
    residentBytes: Number(fields[21]) * pageBytes,
  }
}

/** Returns the page size, 4 to 64 KiB, in which `/proc` counts. */
async function readPageBytes(): Promise<number> {
  if (pageBytesKept !== undefined) return pageBytesKept
  const text = (await ifThere(readFile('/proc/self/smaps', 'latin1'))) ?? ''
  pageBytesKept = Number(/^KernelPageSize:\s+(\d+) kB/m.exec(text)?.[1] ?? 4) * 1024
  return pageBytesKept
}

let pageBytesKept: number | undefined

/** Returns undefined when the process has ended or belongs to another user. */
async function readGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined
    throw error
  }
}
