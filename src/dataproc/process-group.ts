import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessRow, readProcesses, runOfProcess } from './process-table.js'

/**
 * The processes of one run: its group, their descendants, and whatever else carries the run's mark in its environment, which
 * is how those are found that made a group of their own after their parent had ended.
 */
export interface ProcessGroup {
  /** looks at the system afresh */
  members(): Promise<ProcessRow[]>
  /** SIGKILL to all of them until there are none. @returns how many are left, which the kernel itself holds */
  kill(): Promise<number>
}

/** A new process is asked for its mark once; the run's own ones are remembered. */
type Seen = Map<string, boolean>

const KILL_ROUNDS = 200
const KILL_PAUSE_MS = 25

/** @param leaderPid process that leads the group; 0 for what is left of a run whose leader nobody knows */
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
        // at once, and all together: the members of a group cannot fork away from this
        if (leaderPid > 0) signal(-leaderPid)
        const left = await members()
        if (left.length === 0 || round === KILL_ROUNDS) return left.length
        for (const { pid } of left) signal(pid)
        await sleep(KILL_PAUSE_MS)
      }
    },
  }
}

/** Ends what runs of an earlier gateway left behind. @returns how many could not be ended */
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

/** Children of members are members, and theirs. */
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

/** What has ended meanwhile needs none. */
function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
