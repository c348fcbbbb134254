import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

/** `npm run test:reads` runs 10,000; READ_SEED repeats a run. */
const CASES = Number(process.env.READ_CASES ?? 200)
const SEED = Number(process.env.READ_SEED ?? Date.now() % 1_000_000)
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MAPS = '/api/v1/svcapi/jsonrpc'
/** Rows of each table. */
const SIZES = [0, 7, 60]

interface Row {
  readonly n: number
  readonly gen: number
  readonly a: number | null
  readonly s: string | null
  readonly lng: number
}

/** Row of a table in one of its states: every state differs from the one before in most rows. */
function rowOf(n: number, gen: number): Row {
  const mixed = Math.imul(n * 31 + gen * 17 + 7, 2_654_435_761) >>> 0
  return {
    n,
    gen,
    a: mixed % 5 === 0 ? null : (mixed >>> 3) % 7,
    s: mixed % 7 === 0 ? null : ['', 'a', 'ab', 'abc', 'bca', 'a%b', 'ba'][(mixed >>> 5) % 7]!,
    lng: (mixed >>> 8) % 10,
  }
}

const stateOf = (size: number, gen: number) => Array.from({ length: size }, (_, n) => rowOf(n, gen))

type Test = (row: Row) => boolean | null
/** A condition of the wire with its meaning, which knows nothing of the gateway's code. */
interface Case {
  readonly conds: object
  readonly test: Test
}

const COMPARE: Record<string, (order: number) => boolean> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}
const compare = <V extends number | string>(x: V, y: V) => (x < y ? -1 : x > y ? 1 : 0)
const ifKnown = <V>(value: V | null, test: (value: V) => boolean) => (value === null ? null : test(value))

const value = fc.integer({ min: 0, max: 7 })
const text = fc.constantFrom('', 'a', 'ab', 'abc', 'b', 'bca', 'x')
const pattern = fc
  .array(fc.constantFrom('a', 'b', 'c', '%', '_', '\\%'), { maxLength: 6 })
  .map((parts) => parts.join(''))
const operator = fc.constantFrom(...Object.keys(COMPARE))

const term: fc.Arbitrary<Case> = fc.oneof(
  fc.tuple(operator, value).map(
    ([op, v]): Case => ({
      conds: { [op]: ['a', v] },
      test: ({ a }) => ifKnown(a, (found) => COMPARE[op]!(compare(found, v))),
    }),
  ),
  fc
    .tuple(operator, value)
    .map(([op, v]): Case => ({ conds: { [op]: ['n', v] }, test: ({ n }) => COMPARE[op]!(compare(n, v)) })),
  fc.tuple(operator, text).map(
    ([op, v]): Case => ({
      conds: { [op]: ['s', v] },
      test: ({ s }) => ifKnown(s, (found) => COMPARE[op]!(compare(found, v))),
    }),
  ),
  pattern.map(
    (like): Case => ({
      conds: { like: ['s', like] },
      test: ({ s }) => ifKnown(s, (found) => regexOf(like).test(found)),
    }),
  ),
  fc.array(value, { maxLength: 4 }).map(
    (values): Case => ({
      conds: { in: ['a', values] },
      test: ({ a }) => (values.length === 0 ? false : ifKnown(a, (found) => values.includes(found))),
    }),
  ),
  fc.tuple(value, value).map(
    ([low, high]): Case => ({
      conds: { between: ['a', low, high] },
      test: ({ a }) => ifKnown(a, (found) => found >= low && found <= high),
    }),
  ),
  fc
    .constantFrom('a' as const, 's' as const)
    .map((name): Case => ({ conds: { is_null: [name] }, test: (row) => row[name] === null })),
  value.map(
    (west): Case => ({
      conds: { intersects: ['location', boxOf(west, west + 3)] },
      test: ({ lng }) => lng >= west && lng <= west + 3,
    }),
  ),
)

const { condition } = fc.letrec<{ condition: Case }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    term,
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => joined('and', parts)),
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => joined('or', parts)),
    tie('condition').map(({ conds, test }) => ({
      conds: { not: conds },
      test: (row: Row) => negated(test(row)),
    })),
  ),
}))

function joined(operator: 'and' | 'or', parts: readonly Case[]): Case {
  const decides = operator === 'or'
  return {
    conds: { [operator]: parts.map(({ conds }) => conds) },
    test(row) {
      const results = parts.map(({ test }) => test(row))
      if (results.includes(decides)) return decides
      return results.includes(null) ? null : !decides
    },
  }
}

function negated(result: boolean | null): boolean | null {
  return result === null ? null : !result
}

function regexOf(like: string): RegExp {
  const body = like.replaceAll(
    /\\(.)|(%)|(_)/g,
    (_, escaped, many) => escaped ?? (many === undefined ? '[^]' : '[^]*'),
  )
  return new RegExp(`^${body}$`)
}

function boxOf(west: number, east: number): object {
  const ring = [
    [west, 0],
    [east, 0],
    [east, 1],
    [west, 1],
    [west, 0],
  ]
  return { type: 'Polygon', coordinates: [ring] }
}

t.test(
  `property: ${CASES} reads answer as an independent evaluator, of one state each, while rows change`,
  async (t) => {
    t.comment(`READ_SEED=${SEED}`)
    const gateway = await startGateway(t)
    const generations = SIZES.map(() => 0)
    for (const [table, size] of SIZES.entries()) await register(gateway, table, size)
    let isOver = false
    const writing = (async () => {
      for (let turn = 0; !isOver; turn++) {
        const table = turn % SIZES.length
        await put(gateway, table, SIZES[table]!, generations[table]! + 1)
        generations[table]!++
      }
    })()
    try {
      await fc.assert(
        fc.asyncProperty(
          condition,
          fc.nat(SIZES.length - 1),
          fc.boolean(),
          async ({ conds, test }, table, isEverywhere) => {
            const earliest = generations[table]!
            const found = await read(gateway, table, conds, isEverywhere ? null : boxOf(2, 6))
            const latest = generations[table]! + 1 // committed, perhaps, before its writer was told
            const expected = (gen: number) =>
              stateOf(SIZES[table]!, gen)
                .filter((row) => test(row) === true && (isEverywhere || (row.lng >= 2 && row.lng <= 6)))
                .map(({ n, gen, a, s }) => ({ n, gen, a, s }))
            const [first] = found
            if (first === undefined) {
              const states = Array.from({ length: latest - earliest + 1 }, (_, at) => expected(earliest + at))
              ok(
                states.some((rows) => rows.length === 0),
                `nothing was found, expected ${JSON.stringify(states[0])}`,
              )
              return
            }
            ok(first.gen >= earliest && first.gen <= latest, `state ${first.gen} of ${earliest} to ${latest}`)
            deepStrictEqual(found, expected(first.gen))
          },
        ),
        { numRuns: CASES, seed: SEED, endOnFailure: true },
      )
    } finally {
      isOver = true
      await writing
    }
    t.ok(
      generations.every((generation) => generation > 3),
      `states: ${generations.join(', ')}`,
    )
  },
)

async function register(gateway: TestGateway, table: number, size: number): Promise<void> {
  const whole = { udt_name: 'int4', is_nullable: true }
  const params = {
    data_name: `t${table}`,
    record_def: { n: { udt_name: 'int4' }, gen: whole, a: whole, s: { udt_name: 'text', is_nullable: true } },
    unique_columns: ['n'],
  }
  const { body } = await gateway.call(LOADER, 'loaderwebapi.register_loader', params)
  deepStrictEqual(body.error, undefined)
  await put(gateway, table, size, 0)
}

async function put(gateway: TestGateway, table: number, size: number, gen: number): Promise<void> {
  const record_set = stateOf(size, gen).map(({ lng, ...properties }) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [lng, 0.5] },
    properties,
  }))
  const params = { data_name: `t${table}`, options: { if_exists: 'override' }, record_set }
  const { body } = await gateway.call(LOADER, 'loaderwebapi.add_record', params)
  deepStrictEqual(body.error, undefined)
}

async function read(gateway: TestGateway, table: number, conds: object, geometry: object | null) {
  const properties = { table: `t${table}`, columns: ['n', 'gen', 'a', 's'], conds }
  const { body } = await gateway.call(MAPS, 'mapserv.eventdata', { type: 'Feature', geometry, properties })
  deepStrictEqual(body.error, undefined, JSON.stringify(conds))
  const rows = (body.result.features as { properties: Row }[]).map(({ properties: { n, gen, a, s } }) => ({
    n,
    gen,
    a,
    s,
  }))
  return rows.sort((x, y) => x.n - y.n)
}
