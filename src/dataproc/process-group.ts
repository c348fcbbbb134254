import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessRow, readProcesses, runOfProcess } from './process-table.js'

/**
 * Processes of one run: its group, their descendants, and every process with the run's id in its environment.
 * The latter finds processes that left the group after their parent had ended.
 */
export interface ProcessGroup {
  /** Reads the process table. */
  members(): Promise<ProcessRow[]>
  /**
   * Sends SIGKILL until no process is left.
   *
   * @returns processes left after 5 s, which are blocked in the kernel
   */
  kill(): Promise<number>
}

/** Result of the test for each process: the environment of a process is read once. */
type Seen = Map<string, boolean>

const KILL_ROUNDS = 200
const KILL_PAUSE_MS = 25

/** Opens the processes of a run. @param leaderPid leader of the group; 0 when it is not known */
export function createProcessGroup(leaderPid: number, isMark: (runId: string) => boolean): ProcessGroup {
  let seen: Seen = new Map()
  const members = async () => {
    const rows = (await readProcesses()).filter(({ pid }) => pid !== process.pid)
    const next: Seen = new Map()
    for (const row of rows) next.set(nameOf(row), await isMember(row, leaderPid, seen, isMark))
    addChildren(rows, next)
    seen = next
    return rows.filter((row) => next.get(nameOf(row)) === true)
  }
  return {
    members,
    async kill() {
      for (let round = 0; ; round++) {
        // one signal for the whole group: its members cannot escape it by forking
        if (leaderPid > 0) signal(-leaderPid)
        const left = await members()
        if (left.length === 0 || round === KILL_ROUNDS) return left.length
        for (const { pid } of left) signal(pid)
        await sleep(KILL_PAUSE_MS)
      }
    },
  }
}

/** Kills the processes that runs of an earlier gateway left. @returns processes that could not be killed */
export async function killLeftOvers(isMark: (runId: string) => boolean): Promise<number> {
  return await createProcessGroup(0, isMark).kill()
}

async function isMember(
  row: ProcessRow,
  leaderPid: number,
  seen: Seen,
  isMark: (runId: string) => boolean,
): Promise<boolean> {
  if (leaderPid > 0 && (row.groupId === leaderPid || row.pid === leaderPid)) return true
  const known = seen.get(nameOf(row))
  if (known !== undefined) return known
  const mark = await runOfProcess(row.pid)
  return mark !== undefined && isMark(mark)
}

/** Adds the descendants of members. */
function addChildren(rows: readonly ProcessRow[], seen: Seen): void {
  const byPid = new Map(rows.map((row) => [row.pid, row]))
  for (let isGrown = true; isGrown; ) {
    isGrown = false
    for (const row of rows) {
      const parent = byPid.get(row.parentPid)
      if (seen.get(nameOf(row)) === true || parent === undefined || seen.get(nameOf(parent)) !== true)
        continue
      seen.set(nameOf(row), true)
      isGrown = true
    }
  }
}

function nameOf({ pid, startTicks }: ProcessRow): string {
  return `${pid}:${startTicks}`
}

/** Sends SIGKILL; ignores a process that has ended. */
function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
