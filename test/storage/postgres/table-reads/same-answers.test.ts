import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../../../src/errors.js'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import { ALL_COLUMNS, ANY_VALUE, anyRecord, anyText } from '../../../support/any-record.js'
import { openSqliteTables } from '../../../support/conformance/tables/world.js'
import { anyGeometry, earthPosition } from '../../../support/geometries.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'

/** As the wire carries it: -0 is 0 there. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const TYPES = Object.keys(ANY_VALUE) as (keyof typeof ANY_VALUE)[]

/** A value of a condition on a column: one of its type, or a number beyond it. */
function operandOf(type: keyof typeof ANY_VALUE): fc.Arbitrary<unknown> {
  const beyond = fc.constantFrom(1.5, -0.5, 1e300, '9223372036854775808', 'Infinity', 'x', null, '2025-01-01')
  return fc.oneof(
    { weight: 6, arbitrary: ANY_VALUE[type].map(({ json }) => json) },
    { weight: 1, arbitrary: beyond },
  )
}

const anyTerm: fc.Arbitrary<unknown> = fc.constantFrom(...TYPES).chain((type) => {
  const column = `a_${type}`
  const value = operandOf(type)
  const pattern = fc
    .tuple(anyText, fc.constantFrom('', '%', '_', '\\%', '%_'))
    .map(([text, more]) => `%${text.replaceAll('\\', '')}${more}`)
  return fc.oneof(
    fc
      .tuple(fc.constantFrom('=', '<>', '<', '<=', '>', '>='), value)
      .map(([op, v]) => ({ [op]: [column, v] })),
    fc.array(value, { maxLength: 4 }).map((list) => ({ in: [column, list] })),
    fc.tuple(value, value).map(([low, high]) => ({ between: [column, low, high] })),
    fc.constant({ is_null: [column] }),
    pattern.map((text) => ({ like: [column, text] })),
    anyGeometry(earthPosition).map((area) => ({
      intersects: [type === 'geometry' ? column : 'location', area],
    })),
  )
})

const { condition: anyCondition } = fc.letrec<{ condition: unknown }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    anyTerm,
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => ({ and: parts })),
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => ({ or: parts })),
    tie('condition').map((part) => ({ not: part })),
  ),
}))

const anyQuery = fc.record(
  {
    conds: anyCondition,
    order: fc.array(
      fc
        .tuple(fc.constantFrom('', '-'), fc.constantFrom(...TYPES, 'geometry'))
        .map(([sign, type]) => `${sign}a_${type}`),
      { maxLength: 3 },
    ),
    columns: fc.array(
      fc.constantFrom(...TYPES.map((type) => `a_${type}`), '_origin', 'secret', 'photo', 'location'),
      { maxLength: 4 },
    ),
    area: anyGeometry(earthPosition),
    offset: fc.nat({ max: 3 }),
    limit: fc.nat({ max: 6 }),
  },
  { requiredKeys: ['conds'] },
)

t.test('answers on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  const hub = await open(t, { pageRows: 3 })
  const gateway = await openSqliteTables(t, { pageRows: 3 })
  const worlds = [hub, gateway]

  await t.test('property: rows, counts, changes and errors are those of SQLite, byte by byte', async () => {
    let run = 0
    const records = fc.tuple(...Array.from({ length: 8 }, (_, index) => anyRecord(index + 1)))
    await fc.assert(
      fc.asyncProperty(records, fc.array(anyQuery, { minLength: 3, maxLength: 8 }), async (made, queries) => {
        const name = `t${run++}`
        const tables = await Promise.all(worlds.map(({ register }) => register(name, ALL_COLUMNS, ['id'])))
        const ask = (
          work: (world: typeof gateway | typeof hub, table: (typeof tables)[number]) => Promise<unknown>,
        ) =>
          Promise.all(
            worlds.map(async (world, at) => {
              try {
                return asText(await work(world, tables[at] as (typeof tables)[number]))
              } catch (error) {
                if (!isAppError(error)) throw error
                return asText([error.errorName, error.message, error.data])
              }
            }),
          )
        await ask(({ put }, table) =>
          put(
            table,
            made.map(({ feature }) => asJson(feature)),
          ),
        )
        for (const { area, ...query } of queries) {
          const asked: TableQuery = { ...query, ...(area === undefined ? {} : { area: prepareArea(area) }) }
          const [here, there] = await ask(({ read }, table) => read(table, asked))
          deepStrictEqual(here, there)
          const [hereCount, thereCount] = await ask(({ reader }, table) => reader.count(table, asked))
          deepStrictEqual(hereCount, thereCount)
        }
        // without the time of the registration, and without values that are encrypted by chance
        const secret = ALL_COLUMNS.findIndex((column) => column.name === 'secret') + 3
        const [here, there] = await ask(async ({ changes }, table) =>
          (await changes.after(table, 0, 100)).map(({ values, ...row }) => ({
            ...row,
            values: values.toSpliced(secret, 1),
          })),
        )
        deepStrictEqual(here, there)
      }),
      { numRuns: 25 },
    )
  })
})

/** Text that differs where a value does, also in its type. */
function asText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`
    return part === Number.POSITIVE_INFINITY || part === Number.NEGATIVE_INFINITY ? `${part} as number` : part
  })
}
