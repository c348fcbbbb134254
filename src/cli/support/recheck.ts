import { existsSync } from 'node:fs'
import { findDamage } from '../../doctor/find-damage.js'
import { removeDamageNote } from '../../files/damage-note.js'
import { layoutOf } from '../../files/layout.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import type { CliDeps, CliIo, GlobalOptions } from '../io.js'
import { createProgress } from '../progress.js'
import { readSettings } from '../settings.js'

/** Most faults that are printed. */
const MAX_SHOWN = 5

/**
 * Reads every page of both databases and every row of the citations. Withdraws the note of a damaged page when
 * nothing is damaged; a running gateway is ready again then.
 *
 * Prints the first faults otherwise; the checks of doctor decide the exit code.
 */
export async function recheck(flags: GlobalOptions, io: Pick<CliIo, 'stderr'>, deps: CliDeps): Promise<void> {
  const { dataDir } = readSettings(flags, deps)
  const { root, stateDb, damageNote } = layoutOf(dataDir)
  if (!existsSync(stateDb)) return // doctor says what is missing
  const progress = createProgress(io.stderr)
  try {
    const faults = await findDamage(root, createMaintenance(), {
      withRows: true,
      onProgress: (what) => progress.show(undefined, what),
    })
    progress.clear()
    for (const fault of faults.slice(0, MAX_SHOWN)) io.stderr.write(`fieldgate: ${fault}\n`)
    if (faults.length === 0) removeDamageNote(damageNote)
  } finally {
    progress.clear()
  }
}
