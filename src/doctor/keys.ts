import { createClock } from '../storage/clock.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { error, type Finding, isoTime, ok, type Patient, warning } from './finding.js'

const SOON_US = 14 * 24 * 3_600_000_000

interface KeyRow {
  key_id: string
  name: string
  scopes: string
  expires_at_us: number | null
}

/** Times are believed as the gateway believes them: by a wrong clock nothing has expired. */
export function checkKeys({ layout, nowUs }: Patient): Finding[] {
  const db = openPlain(layout.stateDb, true)
  try {
    const seenUs = Number(
      db.prepare<[], string>("SELECT value FROM meta WHERE name = 'last_seen_us'").pluck().get() ?? 0,
    )
    const clock = createClock(seenUs, () => nowUs / 1000)
    const keys = db
      .prepare<[], KeyRow>(
        'SELECT key_id, name, scopes, expires_at_us FROM api_key WHERE revoked_at_us IS NULL',
      )
      .all()
    const active = keys.filter((key) => !clock.hasPassed(key.expires_at_us))
    const admins = active.filter((key) => (JSON.parse(key.scopes) as string[]).includes('admin'))
    const findings: Finding[] = []
    if (admins.length === 0)
      findings.push(
        error(
          'no key may administrate any more',
          'make one: `fieldgate key create --name admin --scope admin`',
        ),
      )
    for (const key of active) {
      if (key.expires_at_us === null || !clock.isTrusted() || key.expires_at_us - nowUs > SOON_US) continue
      findings.push(
        warning(
          `the key ${key.name} (${key.key_id}) expires at ${isoTime(key.expires_at_us)}`,
          'make another with `fieldgate key create`, and carry it to whoever uses this one',
        ),
      )
    }
    return findings.length > 0
      ? findings
      : [ok(`${active.length} active keys, ${admins.length} of them admin`)]
  } finally {
    db.close()
  }
}
