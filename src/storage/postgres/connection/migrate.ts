import type { PostgresDb, Rows } from './database.js'

/** A step of the schema. Neither its name nor its statements ever change once it was released. */
export interface Migration {
  readonly name: string
  /** statements, each a string of its own */
  readonly statements: readonly string[]
}

/** Longest time of one statement of a migration, ms: some rewrite a table. */
const STATEMENT_MS = 3_600_000

interface Applied {
  number: number
  name: string
}

/**
 * Brings a schema up to date, each migration in a transaction of its own. Processes that start together take
 * turns.
 *
 * @returns names of the migrations that were applied
 * @throws Error for a schema of a newer program, or with other migrations
 */
export async function migrate(
  db: PostgresDb,
  migrations: readonly Migration[],
  nowUs: () => number,
): Promise<string[]> {
  const done: string[] = []
  for (;;) {
    const name = await db.write((rows) => applyNext(db.schema, rows, migrations, nowUs()), {
      statementMs: STATEMENT_MS,
    })
    if (name === undefined) return done
    done.push(name)
  }
}

/** Reports whether a schema has migrations. */
export async function schemaExists({ read, schema }: Pick<PostgresDb, 'read' | 'schema'>): Promise<boolean> {
  const text = `SELECT to_regclass('"${schema}".migration') IS NOT NULL AS found`
  return (await read.get<{ found: boolean }>(text))?.found === true
}

/** Checks that a schema is up to date, and changes nothing. @throws Error for one that is not */
export async function requireMigrated(db: PostgresDb, migrations: readonly Migration[]): Promise<void> {
  const applied = (await schemaExists(db)) ? await db.read.all<Applied>(selectApplied(db.schema)) : []
  requireKnown(db.schema, applied, migrations)
  const missing = migrations[applied.length]
  if (missing === undefined) return
  throw new Error(
    `found the schema "${db.schema}" without migration ${applied.length + 1} "${missing.name}", expected it: run \`fieldgate hub init\` with these settings`,
  )
}

async function applyNext(
  schema: string,
  rows: Rows,
  migrations: readonly Migration[],
  nowUs: number,
): Promise<string | undefined> {
  await rows.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `fieldgate migrate ${schema}`)
  await rows.run(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
  await rows.run(`CREATE TABLE IF NOT EXISTS "${schema}".migration (
    number integer PRIMARY KEY, name text NOT NULL, applied_at_us bigint NOT NULL)`)
  const applied = await rows.all<Applied>(selectApplied(schema))
  requireKnown(schema, applied, migrations)
  const next = migrations[applied.length]
  if (next === undefined) return undefined
  for (const statement of next.statements) await rows.run(statement)
  const insert = `INSERT INTO "${schema}".migration VALUES ($1, $2, $3)`
  await rows.run(insert, applied.length + 1, next.name, nowUs)
  return next.name
}

function selectApplied(schema: string): string {
  return `SELECT number, name FROM "${schema}".migration ORDER BY number`
}

/** @throws Error unless the applied migrations are the first of those that this program has */
function requireKnown(schema: string, applied: readonly Applied[], migrations: readonly Migration[]): void {
  for (const [index, { number, name }] of applied.entries()) {
    const expected = migrations[index]
    if (expected === undefined) {
      throw new Error(
        `found migration ${number} "${name}" in the schema "${schema}", expected at most ${migrations.length}: a newer program made it`,
      )
    }
    if (number !== index + 1 || name !== expected.name) {
      throw new Error(
        `found migration ${number} "${name}" in the schema "${schema}", expected ${index + 1} "${expected.name}"`,
      )
    }
  }
}
