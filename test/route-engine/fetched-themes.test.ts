import t from 'tap'
import { AppError } from '../../src/errors.js'
import { createFetchedThemes } from '../../src/route-engine/fetched-themes.js'
import type { ThemeReader } from '../../src/route-engine/theme-reader.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import {
  createCellPacker,
  type ThemeQuestion,
  type ThemeRows,
  visitTimedCells,
} from '../../src/storage/theme-rows.js'
import { rejectsWith } from '../support/rejects-with.js'

const SPAN = { fromUs: 0n, untilUs: 10n }

/** A database of two tables, `a` and `b`, whose cells at an instant have the state of the table as their level. */
function fakeRows(onRead: (reads: number, versions: Record<string, number>) => void = () => undefined) {
  const versions: Record<string, number> = { a: 1, b: 1 }
  const questions: ThemeQuestion[] = []
  const packed = (name: string) => {
    const packer = createCellPacker()
    packer.add(new Uint8Array([1, 2]), versions[name] ?? 0, null, 7n)
    return packer.pack()
  }
  const rows: ThemeRows = {
    async read(question) {
      questions.push(structuredClone(question))
      onRead(questions.length, versions)
      const found = question.tables.map(({ name, known }) => {
        const version = versions[name]
        if (version === undefined) return undefined
        const table = { tableId: name.charCodeAt(0), dataName: name } as LoaderTable
        return { table, version, changes: known?.version === version ? undefined : [BigInt(version)] }
      })
      return {
        tables: found,
        all: question.isListing ? [] : undefined,
        cells: question.cells.flatMap(({ name, instantsUs }) =>
          instantsUs.map((us) => ({ name, fromUs: us, untilUs: us + 1n, cells: packed(name) })),
        ),
        timed: question.timed.map((wanted) => ({ ...wanted, cells: packed(wanted.name) })),
      }
    },
  }
  return { rows, questions, versions }
}

const tableOf = (reader: ThemeReader, name: string): LoaderTable => {
  const table = reader.findTable(name)
  if (table === undefined) throw new Error(`no table ${name}`)
  return table
}

/** Reads level of the cells of a table at an instant. */
function levelAt(reader: ThemeReader, name: string, us: bigint): number | undefined {
  let found: number | undefined
  reader.readCells(tableOf(reader, name), 'risk', us, (_wkb, level) => {
    found = level
  })
  return found
}

t.test('fetched themes: work begins again once the rows that it lacks are here', async (t) => {
  const { rows, questions } = fakeRows()
  const reader = createFetchedThemes(rows)
  let runs = 0
  const found = await reader.withRows(['a'], async () => {
    runs++
    const timed: unknown[] = []
    reader.readTimedCells(tableOf(reader, 'a'), 'risk', SPAN, (wkb, ...more) =>
      timed.push([[...wkb], ...more]),
    )
    return { timed, level: levelAt(reader, 'b', 5n), times: reader.changeTimes(tableOf(reader, 'a')) }
  })
  t.same(found, { timed: [[[1, 2], 1, null, 7n]], level: 1, times: [1n] })
  // a and its version; cells of a; b; cells of b
  t.equal(runs, 4)
  t.equal(questions.length, 4)
  t.same(
    questions.map(({ tables }) => tables.map(({ name }) => name).join('')),
    ['a', 'a', 'ab', 'ab'],
  )
})

t.test('fetched themes: rows of two tables are never of two states', async (t) => {
  // a changes before each of the questions for cells
  const { rows } = fakeRows((reads, versions) => {
    if (reads > 1 && reads < 9) versions.a = reads
  })
  const reader = createFetchedThemes(rows)
  const [version, ofA, ofB] = await reader.withRows(['a', 'b'], async () => [
    reader.versionOf(tableOf(reader, 'a')),
    levelAt(reader, 'a', 3n),
    levelAt(reader, 'b', 3n),
  ])
  t.equal(version, ofA)
  t.equal(ofB, 1)
})

t.test('fetched themes: work that changes with every question comes to its end', async (t) => {
  const { rows, questions } = fakeRows((reads, versions) => {
    versions.a = reads
    versions.b = reads
  })
  const reader = createFetchedThemes(rows)
  const instants = Array.from({ length: 60 }, (_, n) => BigInt(n))
  const levels = await reader.withRows(['a', 'b'], async () => {
    reader.expectInstants(instants)
    return instants.flatMap((us) => [levelAt(reader, 'a', us), levelAt(reader, 'b', us)])
  })
  t.equal(levels.length, 120)
  t.equal(new Set(levels).size, 1, 'all of one state')
  t.ok(questions.length < 40, `${questions.length} questions: more instants each time`)
})

t.test('fetched themes: work at the same time has its own state each', async (t) => {
  const { rows, versions } = fakeRows()
  const reader = createFetchedThemes(rows)
  let goOn: () => void = () => undefined
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const first = reader.withRows(['a'], async () => {
    const before = levelAt(reader, 'a', 1n)
    await waiting
    return [before, reader.versionOf(tableOf(reader, 'a')), levelAt(reader, 'a', 1n)]
  })
  await new Promise((resolve) => setImmediate(resolve))
  versions.a = 2
  t.equal(await reader.withRows(['a'], async () => levelAt(reader, 'a', 1n)), 2)
  goOn()
  t.same(await first, [1, 1, 1])
})

t.test('fetched themes: tables that do not exist, and their list', async (t) => {
  const { rows } = fakeRows()
  const reader = createFetchedThemes(rows)
  const found = await reader.withRows(['x'], async () => [reader.findTable('x'), reader.listTables()])
  t.same(found, [undefined, []])
})

t.test('fetched themes: faults of the database and of the work are passed on', async (t) => {
  const away = createFetchedThemes({ read: async () => Promise.reject(new AppError('DATABASE_UNAVAILABLE')) })
  await rejectsWith(
    t,
    away.withRows(['a'], async () => 1),
    'DATABASE_UNAVAILABLE',
  )
  const { rows } = fakeRows()
  const reader = createFetchedThemes(rows)
  const failing = reader.withRows(['a'], async () => Promise.reject(new AppError('CANCELLED')))
  await rejectsWith(t, failing, 'CANCELLED')
  t.throws(() => reader.findTable('a'), { message: 'found a read of themes outside of withRows' })
  const unknown = reader.withRows(['a'], async () => reader.versionOf({ tableId: 1 } as LoaderTable))
  await t.rejects(unknown, { message: 'found no table 1 in the rows of this call' })
})

t.test('packed cells: come back as they were added', (t) => {
  const cells: [Uint8Array, number, bigint | null, bigint | null][] = [
    [new Uint8Array([1]), 3, null, 2n ** 62n],
    [new Uint8Array(0), -4, -5n, null],
    [new Uint8Array([7, 8, 9]), 2 ** 40, 0n, 1n],
  ]
  const packer = createCellPacker()
  for (const cell of cells) packer.add(...cell)
  const found: unknown[] = []
  visitTimedCells(structuredClone(packer.pack()), (wkb, ...more) => found.push([wkb.slice(), ...more]))
  t.same(found, cells)
  t.end()
})
