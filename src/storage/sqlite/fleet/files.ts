import type { FleetFile, FleetFiles, ProfileVersion } from '../../exchange/fleet.js'
import type { InstalledFile, InstalledFiles } from '../../exchange/membership.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

const SELECT = 'SELECT sha256, name, size_bytes AS sizeBytes, added_at_us AS addedAtUs FROM fleet_file'

/** Version of a profile that gateways have or can still get, and that names a digest. */
const NAMED_BY = `SELECT p.name, p.version FROM fleet_profile AS p
  WHERE instr(p.body, ?) > 0 AND (
    p.version >= (SELECT max(version) - 1 FROM fleet_profile WHERE name = p.name)
    OR EXISTS (SELECT 1 FROM fleet_member AS m
      WHERE m.profile = p.name AND m.state = 'member' AND m.applied_digest = p.digest))
  ORDER BY p.name, p.version DESC LIMIT 1`

/** Creates the files of a hub in `state.db`. */
export function createFleetFiles(state: StateDb, clock: TrustedClock): FleetFiles {
  const { db } = state
  const find = (sha256: string) => statement<FleetFile>(db, `${SELECT} WHERE sha256 = ?`).get(sha256)
  return {
    add: ({ sha256, name, sizeBytes }) =>
      writeState(state, () => {
        statement(
          db,
          `INSERT INTO fleet_file (sha256, name, size_bytes, added_at_us) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET name = excluded.name, size_bytes = excluded.size_bytes`,
        ).run(sha256, name, sizeBytes, clock.nowUs())
        return writtenRow(find(sha256))
      }),
    find: async (sha256) => find(sha256),
    list: async () => statement<FleetFile>(db, `${SELECT} ORDER BY name, added_at_us, sha256`).all(),
    remove: (sha256) =>
      writeFreeing(state, () => {
        const file = find(sha256)
        if (file === undefined) return undefined
        const namedBy = statement<Pick<ProfileVersion, 'name' | 'version'>>(db, NAMED_BY).get(sha256) ?? null
        if (namedBy === null) statement(db, 'DELETE FROM fleet_file WHERE sha256 = ?').run(sha256)
        return { file, namedBy }
      }),
  }
}

/** Creates the notes of `state.db` on what profiles installed. */
export function createInstalledFiles(state: StateDb): InstalledFiles {
  const { db } = state
  return {
    list: async () =>
      statement<InstalledFile>(
        db,
        'SELECT kind, name, sha256, stamp FROM fleet_installed ORDER BY kind, name',
      ).all(),
    note: ({ kind, name, sha256, stamp }) =>
      writeState(state, () => {
        statement(
          db,
          `INSERT INTO fleet_installed (kind, name, sha256, stamp) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET sha256 = excluded.sha256, stamp = excluded.stamp`,
        ).run(kind, name, sha256, stamp)
      }),
    forget: (kind, name) =>
      writeFreeing(state, () => {
        statement(db, 'DELETE FROM fleet_installed WHERE kind = ? AND name = ?').run(kind, name)
      }),
  }
}
