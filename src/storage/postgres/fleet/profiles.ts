import type { FleetProfiles, ProfileVersion } from '../../exchange/fleet.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'

type Row = Omit<ProfileVersion, 'body'> & { body: string }

const SELECT = `SELECT name, version, digest, body, created_at_us AS "createdAtUs", created_by AS "createdBy"
  FROM fleet_profile`

/** Creates the profiles of a hub. */
export function createFleetProfiles(db: PostgresDb, clock: TrustedClock): FleetProfiles {
  const newest = (rows: Rows, name: string) =>
    one(rows, `${SELECT} WHERE name = $1 ORDER BY version DESC LIMIT 1`, name)
  // each report and each join asks for the same ones
  const newestOf = readTogether(async (names) => {
    const found = await db.read.all<Row>(
      `SELECT DISTINCT ON (name) * FROM (${SELECT} WHERE name = ANY ($1::text[])) AS p ORDER BY name, version DESC`,
      [...names],
    )
    return new Map(found.map((row) => [row.name, toVersion(row)]))
  })
  const versionsOf = readTogether(async (names) => {
    const found = await db.read.all<Row>(`${SELECT} WHERE name = ANY ($1::text[]) ORDER BY version DESC`, [
      ...names,
    ])
    return Map.groupBy(found.map(toVersion), ({ name }) => name)
  })
  return {
    add({ name, digest, body, createdBy }, base) {
      const createdAtUs = clock.nowUs() // one time for all attempts, by which a repeat knows its own row
      return db.write(async (rows, { isRepeat }) => {
        // versions of a name are added in turn, by all processes
        await rows.run(
          'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
          `${db.schema} profile ${name}`,
        )
        const own = 'SELECT 1 FROM fleet_profile WHERE name = $1 AND digest = $2 AND created_at_us = $3'
        const last = await newest(rows, name)
        if (isRepeat && (await rows.get(own, name, digest, createdAtUs)) !== undefined) return last
        const version = last?.version ?? 0
        if (base !== null && base !== version) return undefined
        if (last?.digest === digest) return last
        await rows.run(
          `INSERT INTO fleet_profile (name, version, digest, body, created_at_us, created_by)
            VALUES ($1, $2, $3, $4, $5, $6)`,
          ...[name, version + 1, digest, JSON.stringify(body), createdAtUs, createdBy],
        )
        return await newest(rows, name)
      })
    },
    find: async (name, version) =>
      version === undefined
        ? await newestOf(name)
        : await one(db.read, `${SELECT} WHERE name = $1 AND version = $2`, name, version),
    async list() {
      const rows = await db.read.all<Row>(
        `${SELECT} AS p WHERE version = (SELECT max(version) FROM fleet_profile WHERE name = p.name) ORDER BY name`,
      )
      return rows.map(toVersion)
    },
    versions: async (name) => (await versionsOf(name)) ?? [],
  }
}

async function one(rows: Rows, text: string, ...values: (string | number)[]) {
  const row = await rows.get<Row>(text, ...values)
  return row === undefined ? undefined : toVersion(row)
}

function toVersion(row: Row): ProfileVersion {
  return { ...row, body: JSON.parse(row.body) }
}
