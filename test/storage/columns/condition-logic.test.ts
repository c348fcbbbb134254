import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { feature, openTables } from '../../support/tables.js'

type Logic = boolean | null

/** A condition and what it says of a row: true, false or unknown. */
interface Made {
  conds: unknown
  test(row: { a: number | null; b: string | null }): Logic
}

const compare = {
  '=': (o: number) => o === 0,
  '<>': (o: number) => o !== 0,
  '<': (o: number) => o < 0,
  '>=': (o: number) => o >= 0,
}

const leaf: fc.Arbitrary<Made> = fc.oneof(
  fc.tuple(fc.constantFrom('=', '<>', '<', '>='), fc.nat({ max: 4 })).map(
    ([operator, value]): Made => ({
      conds: { [operator]: ['a', value] },
      test: ({ a }) => (a === null ? null : compare[operator as keyof typeof compare](a - value)),
    }),
  ),
  fc.array(fc.nat({ max: 4 }), { maxLength: 3 }).map(
    (values): Made => ({
      conds: { in: ['a', values] },
      // SQL: nothing is in an empty list, not even null
      test: ({ a }) => (values.length === 0 ? false : a === null ? null : values.includes(a)),
    }),
  ),
  fc.constantFrom('x', 'y').map(
    (value): Made => ({
      conds: { '=': ['b', value] },
      test: ({ b }) => (b === null ? null : b === value),
    }),
  ),
  fc.constant<Made>({ conds: { is_null: ['b'] }, test: ({ b }) => b === null }),
)

const { tree } = fc.letrec<{ tree: Made }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie('tree').map(({ conds, test }) => ({
      conds: { not: conds },
      test: (row: Parameters<Made['test']>[0]) => negate(test(row)),
    })),
    fc.array(tie('tree'), { maxLength: 3 }).map((parts) => ({
      conds: { and: parts.map(({ conds }) => conds) },
      test: (row: Parameters<Made['test']>[0]) => all(parts.map(({ test }) => test(row))),
    })),
    fc.array(tie('tree'), { maxLength: 3 }).map((parts) => ({
      conds: { or: parts.map(({ conds }) => conds) },
      test: (row: Parameters<Made['test']>[0]) => negate(all(parts.map(({ test }) => negate(test(row))))),
    })),
  ),
}))

function negate(value: Logic): Logic {
  return value === null ? null : !value
}

function all(values: Logic[]): Logic {
  return values.includes(false) ? false : values.includes(null) ? null : true
}

t.test('property: nested conditions leave the rows that three-valued logic leaves', async () => {
  const tables = openTables()
  const table = tables.register(
    'logic',
    [{ name: 'id', udtName: 'int4' }, { name: 'a', udtName: 'int4' }, { name: 'b' }],
    ['a', 'id'],
  )
  const rows = [0, 1, 2, 3, 4, null].flatMap((a) => ['x', 'y', null].map((b) => ({ a, b })))
  await tables.put(
    table,
    rows.map((row, id) => feature(null, { id, ...row })),
  )
  await fc.assert(
    fc.asyncProperty(tree, async ({ conds, test }) => {
      const found = (await tables.read(table, { conds })).map(({ properties }) => properties.id)
      deepStrictEqual(
        found,
        rows.flatMap((row, id) => (test(row) === true ? [id] : [])),
      )
    }),
    { numRuns: 300 },
  )
})
