import type { FleetFile, FleetFiles, ProfileVersion } from '../../exchange/fleet.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

const SELECT = 'SELECT sha256, name, size_bytes AS "sizeBytes", added_at_us AS "addedAtUs" FROM fleet_file'

/** Version of a profile that gateways have or can still get, and that names a digest. */
const NAMED_BY = `SELECT p.name, p.version FROM fleet_profile AS p
  WHERE strpos(p.body, $1) > 0 AND (
    p.version >= (SELECT max(version) - 1 FROM fleet_profile WHERE name = p.name)
    OR EXISTS (SELECT 1 FROM fleet_member AS m
      WHERE m.profile = p.name AND m.state = 'member' AND m.applied_digest = p.digest))
  ORDER BY p.name, p.version DESC LIMIT 1`

/** Creates the files of a hub. */
export function createFleetFiles(db: PostgresDb, clock: TrustedClock): FleetFiles {
  const find = (rows: Rows, sha256: string) => rows.get<FleetFile>(`${SELECT} WHERE sha256 = $1`, sha256)
  return {
    add: ({ sha256, name, sizeBytes }) =>
      db.write(async (rows) => {
        await rows.run(
          `INSERT INTO fleet_file (sha256, name, size_bytes, added_at_us) VALUES ($1, $2, $3, $4)
            ON CONFLICT (sha256) DO UPDATE SET name = excluded.name, size_bytes = excluded.size_bytes`,
          ...[sha256, name, sizeBytes, clock.nowUs()],
        )
        return writtenRow(await find(rows, sha256))
      }),
    find: (sha256) => find(db.read, sha256),
    list: () => db.read.all<FleetFile>(`${SELECT} ORDER BY name, added_at_us, sha256`),
    async remove(sha256) {
      const file = await find(db.read, sha256)
      if (file === undefined) return undefined
      return await db.write(async (rows) => {
        // no version that names it may come between the question and the removal
        await rows.run('LOCK TABLE fleet_profile IN SHARE MODE')
        const namedBy = (await rows.get<Pick<ProfileVersion, 'name' | 'version'>>(NAMED_BY, sha256)) ?? null
        if (namedBy === null) await rows.run('DELETE FROM fleet_file WHERE sha256 = $1', sha256)
        return { file, namedBy }
      })
    },
  }
}
