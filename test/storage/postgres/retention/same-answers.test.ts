import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { printRetention } from '../../../../src/api/dataloader/retention-schema.js'
import { sumHex } from '../../../../src/storage/exchange/row-digest.js'
import type { RetentionRule } from '../../../../src/storage/retention.js'
import { summaryDefinition } from '../../../../src/storage/summary-table.js'
import {
  openRules,
  openSqliteRetention,
  type RetentionWorld,
} from '../../../support/conformance/retention/world.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresRetention } from '../../../support/postgres-retention.js'
import { NO_RULE, reading, removeAll, stepOf } from '../../../support/retention.js'
import { TIME_ZONE_MIN } from '../../../support/tables.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const SUMMARY = 'readings_sums'

const anyReading = fc.record({
  seq: fc.nat(30),
  ageS: fc.option(fc.nat(5 * 86_400)),
  sensor: fc.constantFrom('a', 'b', 'ä '),
  value: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 })),
  hits: fc.option(fc.integer()),
  isOther: fc.boolean(),
})
type Reading = typeof anyReading extends fc.Arbitrary<infer T> ? T : never

const anyRule: fc.Arbitrary<RetentionRule> = fc.record({
  ageDays: fc.option(fc.double({ min: 0.5, max: 5, noNaN: true })),
  maxRows: fc.option(fc.integer({ min: 1, max: 20 })),
  maxBytes: fc.constant(null),
  thin: fc.option(
    fc.record({
      afterDays: fc.double({ min: 0.01, max: 3, noNaN: true }),
      intervalS: fc.constantFrom(60, 3600, 86_400),
      by: fc.constantFrom<string[]>([], ['sensor'], ['sensor', 'hits']),
      to: fc.constantFrom({ keep: 'first' as const }, { keep: 'last' as const }, { into: SUMMARY }),
    }),
  ),
  dropsUnsent: fc.boolean(),
})

const anyRun = fc.record({
  first: fc.array(anyReading, { maxLength: 40 }),
  later: fc.array(anyReading, { maxLength: 15 }),
  rule: anyRule,
  until: fc.nat(50),
  except: fc.array(fc.nat(50), { maxLength: 5 }),
  limit: fc.integer({ min: 1, max: 9 }),
  isCounted: fc.boolean(),
})
type Run = typeof anyRun extends fc.Arbitrary<infer T> ? T : never

const featureOf = ({ seq, ageS, sensor, value, hits }: Reading) => reading(seq, ageS, { sensor, value, hits })

/** Returns a value as JSON has it. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one)))
}

/** Runs the same work over an engine, and returns all that callers see of it. */
async function answersOf(
  t: Parameters<typeof openRules>[0],
  tables: RetentionWorld,
  run: Run,
): Promise<unknown> {
  const { table, store } = await openRules(t, async () => tables)
  const { first, later, rule, limit, isCounted } = run
  const put = async (rows: readonly Reading[]) => {
    for (const isOther of [false, true])
      await tables.put(
        table,
        rows.filter((row) => row.isOther === isOther).map(featureOf),
        'override',
        isOther ? { origin: VAN } : {},
      )
  }
  if (isCounted) await tables.digests.begin(table)
  const by = rule.thin?.by ?? []
  const definition = summaryDefinition(table, SUMMARY, by)
  const summary = await tables.register(
    SUMMARY,
    definition.columns.map((column) => ({ ...column })),
    [...definition.uniqueColumns],
  )
  await store.set(table, { ...NO_RULE, ...rule })
  const counts: unknown[] = []
  for (const rows of [first, later]) {
    await put(rows)
    const given = {
      sent: { until: run.until, except: new Set(run.except) },
      ...{ dropsUnsent: rule.dropsUnsent, limit },
    }
    for (const reason of ['thin', 'age'] as const)
      if (rule[reason === 'thin' ? 'thin' : 'ageDays'] !== null)
        counts.push(await removeAll({ store }, table, reason, given))
    const excess = ((await store.find(table))?.rows ?? 0) - (rule.maxRows ?? Number.POSITIVE_INFINITY)
    if (excess > 0) {
      const result = await store.removeOldest(table, stepOf({ ...given, limit: excess }))
      counts.push({ ...result, tookMs: 0 })
    }
  }
  const [found] = await store.list()
  const days = (await tables.digests.read(table, null))?.days
  const answers = {
    counts,
    entry: { ...printRetention(table, found, undefined, TIME_ZONE_MIN), bytes: 0 }, // rows are as large as their engine makes them
    rows: await tables.read(table),
    changes: (await tables.changes.after(table, 0, 1000)).map(({ change, origin, day }) => [
      change,
      origin,
      day,
    ]),
    last: await tables.changes.last(table),
    summary: await tables.read(summary),
    days: days?.map(({ origin, day, sum, removed }) => [origin, day, sum.rows, sumHex(sum), removed]),
    removed: await tables.digests.removed(table),
  }
  for (const one of [table, summary]) await tables.store.drop(one)
  return answers
}

t.test(
  'retention: the same rows go on both engines, and all answers are the same',
  { skip: noPostgres() },
  async (t) => {
    const tables = await (await postgresRetention(t))(t)
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const sqlite = await answersOf(t, await openSqliteRetention(t), run)
        const postgres = await answersOf(t, tables, run)
        deepStrictEqual(plain(postgres), plain(sqlite))
      }),
      { numRuns: 30, endOnFailure: true },
    )
  },
)
