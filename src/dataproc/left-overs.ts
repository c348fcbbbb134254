import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Log } from '../log.js'
import { removeTree } from './disk-usage.js'
import type { DataprocLayout } from './layout.js'
import { killLeftOvers } from './process-group.js'
import type { SessionDirectories } from './session-directories.js'

/**
 * Removes what an earlier gateway left: processes of its runs first, so that none writes into a removed
 * directory, then the directories of runs and of ended sessions.
 *
 * @param findUnknown returns those of some session ids that no open session has
 */
export async function removeLeftOvers(
  { runsDir }: DataprocLayout,
  directories: SessionDirectories,
  findUnknown: (sessionIds: readonly string[]) => Promise<readonly string[]>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const runs = new Set(await readdir(runsDir))
  if (runs.size > 0) {
    const leftProcesses = await killLeftOvers((runId) => runs.has(runId))
    log.warn({ runs: runs.size, leftProcesses }, 'removing the runs of modules that an earlier gateway left')
  }
  for (const name of runs) await removeTree(path.join(runsDir, name))
  for (const sessionId of await findUnknown(await directories.list())) await directories.remove(sessionId)
}
