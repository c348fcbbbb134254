import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import type { Geometry } from '../../../src/geo/types.js'
import type { OnConflict } from '../../../src/storage/datasets/datasets.js'
import { createKeyring } from '../../../src/storage/keyring.js'
import { transaction } from '../../../src/storage/sqlite/connection/database.js'
import { findTable, registerTable } from '../../../src/storage/sqlite/tables/catalog.js'
import { putRecords } from '../../../src/storage/sqlite/tables/put.js'
import type { IfExists } from '../../../src/storage/tables.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
  sumsOf,
  vacuum,
} from '../../support/datasets.js'
import { NOW_US, TIME_ZONE_MIN } from '../../support/tables.js'

/*
 * The promise of citations against a model in memory: random programs of everything that can happen to datasets and cited
 * loader tables, and after each step every citation reads exactly what it read when it was made.
 */

type Source = 'keyed' | 'plain' | 'events'
type Row = { k: number; v: string | null; g: Geometry | null }
type Step =
  | { do: 'put'; to: 'keyed' | 'plain'; rows: Row[]; mode: OnConflict }
  | { do: 'load'; rows: Row[]; mode: IfExists }
  | { do: 'delete'; from: 'keyed' | 'plain'; below: number }
  | { do: 'deleteNear'; x: number }
  | { do: 'cite'; source: Source; label: string }
  | { do: 'uncite'; nth: number; isShort: boolean }
  | { do: 'remake'; which: 'keyed' | 'plain' }
  | { do: 'vacuum' | 'restart' | 'tick' }

const SOURCES: Source[] = ['keyed', 'plain', 'events']
const point = (x: number): Geometry => ({ type: 'Point', coordinates: [x, 1] })
const anyRow: fc.Arbitrary<Row> = fc.record({
  k: fc.integer({ min: 0, max: 4 }),
  v: fc.constantFrom('', 'a', '🚧é', null),
  g: fc.oneof(
    fc.integer({ min: 0, max: 3 }).map(point),
    fc.constantFrom<Geometry | null>(
      null,
      { type: 'GeometryCollection', geometries: [] },
      {
        type: 'GeometryCollection',
        geometries: [
          point(0),
          {
            type: 'LineString',
            coordinates: [
              [2, 0],
              [2, 2],
            ],
          },
        ],
      },
    ),
  ),
})
const rows = fc.array(anyRow, { minLength: 1, maxLength: 5 })
const dataset = fc.constantFrom<'keyed' | 'plain'>('keyed', 'plain')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      to: dataset,
      rows,
      mode: fc.constantFrom<OnConflict>('update', 'update', 'update', 'nothing', 'error'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('load' as const),
      rows,
      mode: fc.constantFrom<IfExists>('override', 'override', 'override', 'skip', 'error'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      from: dataset,
      below: fc.integer({ min: 0, max: 7 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deleteNear' as const), x: fc.integer({ min: 0, max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('cite' as const),
      source: fc.constantFrom(...SOURCES),
      label: fc.constantFrom('a', 'b'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('uncite' as const), nth: fc.nat(9), isShort: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remake' as const), which: dataset }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('vacuum' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'tick' as const) }) },
)

interface Cited {
  label: string
  longForm: string
  source: Source
  rows: Row[]
  checksum: string
}

interface World {
  file: string
  opened: OpenedDatasets
  tables: Record<Source, Row[]>
  cited: Cited[]
}

t.test('property: every citation reads what it read when made, whatever happens after', async (t) => {
  const root = t.testdir()
  let steps = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (program) => {
      const dir = mkdtempSync(path.join(root, 'run'))
      const world: World = {
        file: path.join(dir, 'data.db'),
        opened: open(path.join(dir, 'data.db')),
        tables: { keyed: [], plain: [], events: [] },
        cited: [],
      }
      try {
        await makeTables(world)
        for (const one of program) {
          await run(world, one)
          for (const citation of world.cited) await check(world, citation)
          steps++
        }
        await world.opened.store.settled()
      } finally {
        await world.opened.close()
        rmSync(dir, { recursive: true })
      }
    }),
    { numRuns: Number(process.env.PROGRAMS ?? 25) }, // PROGRAMS=2000 for a night
  )
  t.ok(steps > 200, `${steps} steps`)
})

function open(file: string): OpenedDatasets {
  const opened = openDatasets(file, 3)
  opened.data.writer.pragma('synchronous = OFF') // no power is cut here
  return opened
}

async function makeTables({ opened }: World): Promise<void> {
  await makeDataset(opened, 'keyed')
  await makeDataset(opened, 'plain')
  const column = {
    isNullable: true,
    columnDefault: null,
    length: null,
    srid: null,
    isEncrypted: false,
    file: null,
  }
  transaction(opened.data.writer, () =>
    registerTable(
      opened.data.writer,
      {
        dataName: 'events',
        schema: 'event',
        columns: [
          { ...column, name: 'k', udtName: 'int4' },
          { ...column, name: 'v', udtName: 'text' },
        ],
        uniqueColumns: ['k'],
      },
      NOW_US,
    ),
  )
}

async function makeDataset({ store }: OpenedDatasets, name: 'keyed' | 'plain'): Promise<void> {
  await store.create(
    definition(name, columns('k int', 'v text?', 'g geometry?'), name === 'keyed' ? ['k'] : []),
  )
}

async function run(world: World, one: Step): Promise<void> {
  const { opened, tables } = world
  switch (one.do) {
    case 'put': {
      const next = putIn(tables[one.to], one.rows, one.to === 'keyed' ? one.mode : undefined)
      const written = opened.store.put(
        one.to,
        one.rows.map(({ k, v, g }) => [k, v, g]),
        one.mode,
      )
      if (next === undefined) return await expectError(written, 'RECORD_EXISTS')
      tables[one.to] = next.rows
      if ((await written) !== next.written)
        throw new Error(`wrote ${await written}, expected ${next.written}`)
      return
    }
    case 'load': {
      const mode = ({ override: 'update', skip: 'nothing', error: 'error' } as const)[one.mode]
      const next = putIn(tables.events, one.rows, mode)
      const loaded = load(world, one.rows, one.mode)
      if (next === undefined) return await expectError(loaded, 'RECORD_EXISTS')
      tables.events = next.rows
      await loaded
      return
    }
    case 'delete': {
      const rest = tables[one.from].filter(({ k }) => k >= one.below)
      const deleted = await opened.store.deleteRecords(one.from, { '<': ['k', one.below] })
      if (deleted !== tables[one.from].length - rest.length) throw new Error(`deleted ${deleted}`)
      tables[one.from] = rest
      return
    }
    case 'deleteNear':
      tables.keyed = tables.keyed.filter(({ g }) => !touches(g, one.x))
      await opened.store.deleteRecords('keyed', { intersects: ['g', point(one.x)] })
      return
    case 'cite':
      return await cite(world, one.source, one.label)
    case 'uncite':
      return await uncite(world, one.nth, one.isShort)
    case 'remake':
      await opened.store.remove(one.which)
      await makeDataset(opened, one.which)
      tables[one.which] = []
      world.cited = world.cited.filter(({ source }) => source !== one.which)
      return
    default:
      return await runPlain(world, one.do)
  }
}

async function runPlain(world: World, what: 'vacuum' | 'restart' | 'tick'): Promise<void> {
  const { clock } = world.opened
  if (what === 'tick') clock.us += 1
  if (what === 'vacuum') await vacuum(world.opened)
  if (what === 'restart') {
    const { us } = clock
    await world.opened.close()
    world.opened = open(world.file)
    world.opened.clock.us = us - 2 // and a clock that was set back
  }
}

async function cite(world: World, source: Source, label: string): Promise<void> {
  const { store } = world.opened
  const { longForm, createdAtUs, transactionTimeUs } = await store.cite(label, source)
  if (world.cited.some((other) => other.longForm === longForm)) throw new Error(`${longForm} is given twice`)
  if (longForm !== `${label}_${createdAtUs / 1e6}`) throw new Error(`${longForm} is not ${createdAtUs / 1e6}`)
  if (transactionTimeUs > createdAtUs) throw new Error('the transaction is later than the citation')
  const { checksum } = await sumsOf(world.opened, longForm)
  world.cited.push({ label, longForm, source, rows: structuredClone(world.tables[source]), checksum })
}

async function uncite(world: World, nth: number, isShort: boolean): Promise<void> {
  const target = world.cited[nth % Math.max(1, world.cited.length)]
  if (target === undefined) return await expectError(world.opened.store.uncite('a'), 'UNKNOWN_CITATION')
  const isGone = (one: Cited) => (isShort ? one.label === target.label : one === target)
  const removed = await world.opened.store.uncite(isShort ? target.label : target.longForm)
  const expected = world.cited.filter(isGone).map(({ longForm }) => longForm)
  if (removed.map(({ longForm }) => longForm).join() !== expected.join())
    throw new Error('others were removed')
  world.cited = world.cited.filter((one) => !isGone(one))
}

/**
 * The whole, in pages, by key, by place, in another order, its checksum; and the short form reads as the
 * newest.
 */
async function check({ opened, cited }: World, citation: Cited): Promise<void> {
  const { store } = opened
  const expected = citation.rows.map((row) => printed(citation.source, row))
  const read = (query: object) => allRecords(store, citation.longForm, query)
  const only = { columns: citation.source === 'events' ? ['k', 'v', 'location'] : ['k', 'v', 'g'] }
  same(await read(only), expected, 'whole')
  const at = citation.rows.length >> 1
  same(await read({ ...only, offset: at, limit: 2 }), expected.slice(at, at + 2), 'page')
  same(await read({ ...only, offset: at + 2, limit: 2 }), expected.slice(at + 2, at + 4), 'next page')
  const isKey = (row: Row) => row.k === 3
  same(
    await read({ ...only, conds: { '=': ['k', 3] } }),
    expected.filter((_, i) => isKey(citation.rows[i] as Row)),
    'key',
  )
  const place = citation.source === 'events' ? 'location' : 'g'
  const near = expected.filter((_, i) => touches((citation.rows[i] as Row).g, 2))
  same(await read({ ...only, conds: { intersects: [place, point(2)] } }), near, 'place')
  const sorted = expected.toSorted((a, b) => (b.k as number) - (a.k as number))
  same(await read({ ...only, order: '-k', offset: 1 }), sorted.slice(1), 'order')
  const newest = cited.findLast(({ label }) => label === citation.label) as Cited
  same(
    await allRecords(store, citation.label, { columns: ['k'] }),
    newest.rows.map(({ k }) => ({ k })),
    'short form',
  )
  same((await sumsOf(opened, citation.longForm)).checksum, citation.checksum, 'checksum')
}

function printed(source: Source, { k, v, g }: Row): Record<string, unknown> {
  return source === 'events' ? { k, v, location: g } : { k, v, g }
}

/** @param mode undefined for a table without a key */
function putIn(before: readonly Row[], added: readonly Row[], mode: OnConflict | undefined) {
  const next = structuredClone(before) as Row[]
  let written = 0
  for (const row of added) {
    const at = mode === undefined ? -1 : next.findIndex(({ k }) => k === row.k)
    if (at === -1) next.push(row)
    else if (mode === 'error') return undefined
    else if (mode === 'nothing') continue
    else next[at] = row
    written++
  }
  return { rows: next, written }
}

function touches(geometry: Geometry | null, x: number): boolean {
  if (geometry === null) return false
  if (geometry.type === 'GeometryCollection') return geometry.geometries.some((one) => touches(one, x))
  return geometry.type === 'Point' ? geometry.coordinates[0] === x : x === 2
}

async function load({ opened }: World, added: readonly Row[], ifExists: IfExists): Promise<void> {
  const { data } = opened
  const table = findTable(data.reader, 'events')
  if (table === undefined) throw new Error('no table')
  const records = added.map(({ k, v, g }) => ({ type: 'Feature', geometry: g, properties: { k, v } }))
  await data.lock.run(() =>
    putRecords(data.writer, table, records, {
      ifExists,
      env: {
        timeZoneMin: TIME_ZONE_MIN,
        nowUs: BigInt(NOW_US),
        keyring: createKeyring(new Uint8Array(32)),
        newPathId: () => 'x',
      },
      putFile: async () => 'x',
      maxMergeRows: 4096,
    }),
  )
}

async function expectError(work: Promise<unknown>, name: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isAppError(error) || error.errorName !== name) throw new Error(`expected ${name}, found ${error}`)
}

function same(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)]
  if (a !== b) throw new Error(`${what}: found ${a}, expected ${b}`)
}
