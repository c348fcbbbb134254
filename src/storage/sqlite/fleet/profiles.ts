import type { FleetProfiles, ProfileVersion } from '../../exchange/fleet.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

type Row = Omit<ProfileVersion, 'body'> & { body: string }

const SELECT = `SELECT name, version, digest, body, created_at_us AS createdAtUs, created_by AS createdBy
  FROM fleet_profile`

/** Creates the profiles of `state.db`. */
export function createFleetProfiles(state: StateDb, clock: TrustedClock): FleetProfiles {
  const { db } = state
  const one = (where: string, ...values: unknown[]) => {
    const row = statement<Row>(db, `${SELECT} WHERE ${where}`).get(...values)
    return row === undefined ? undefined : toVersion(row)
  }
  const newest = (name: string) => one('name = ? ORDER BY version DESC LIMIT 1', name)
  return {
    add: ({ name, digest, body, createdBy }, base) =>
      writeState(state, () => {
        const last = newest(name)
        const version = last?.version ?? 0
        if (base !== null && base !== version) return undefined
        if (last?.digest === digest) return last
        statement(
          db,
          `INSERT INTO fleet_profile (name, version, digest, body, created_at_us, created_by)
           VALUES (?, ?, ?, ?, ?, ?)`,
        ).run(name, version + 1, digest, JSON.stringify(body), clock.nowUs(), createdBy)
        return newest(name)
      }),
    find: async (name, version) =>
      version === undefined ? newest(name) : one('name = ? AND version = ?', name, version),
    list: async () =>
      statement<Row>(
        db,
        `${SELECT} AS p WHERE version = (SELECT max(version) FROM fleet_profile WHERE name = p.name) ORDER BY name`,
      )
        .all()
        .map(toVersion),
    versions: async (name) =>
      statement<Row>(db, `${SELECT} WHERE name = ? ORDER BY version DESC`).all(name).map(toVersion),
  }
}

function toVersion(row: Row): ProfileVersion {
  return { ...row, body: JSON.parse(row.body) }
}
