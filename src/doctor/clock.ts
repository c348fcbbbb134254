import { createClock, WRITTEN_AT_US } from '../storage/clock.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { error, type Finding, isoTime, ok, type Patient } from './finding.js'

/** A clock that stands before a time that has passed ends nothing: keys, sessions and uploads live on until it is set. */
export function checkClock({ layout, nowUs }: Patient): Finding[] {
  const db = openPlain(layout.stateDb, true)
  let seenUs: number
  try {
    const sql = "SELECT value FROM meta WHERE name = 'last_seen_us'"
    seenUs = Number(db.prepare<[], string>(sql).pluck().get() ?? 0)
  } finally {
    db.close()
  }
  const now = isoTime(nowUs)
  if (createClock(seenUs, () => nowUs / 1000).isTrusted())
    return [ok(seenUs === 0 ? now : `${now}, and ${isoTime(seenUs)} was the last time that was recorded`)]
  if (seenUs <= WRITTEN_AT_US)
    return [
      error(
        `the clock says ${now}, which is before this program was written (${isoTime(WRITTEN_AT_US)}); nothing expires`,
        'set it: `timedatectl set-ntp true`, or `date -s`',
      ),
    ]
  return [
    error(
      `the clock says ${now}, and ${isoTime(seenUs)} was recorded before; nothing expires until that time`,
      'set the clock (`timedatectl set-ntp true`); if the recorded time is the wrong one, run `fieldgate doctor --reset-clock`',
    ),
  ]
}
