import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type FoundCells,
  type FoundTable,
  type ThemeAnswer,
  type ThemeQuestion,
  type ThemeRows,
  visitCells,
  visitTimedCells,
  type WantedCells,
  type WantedTimed,
} from '../storage/theme-rows.js'
import type { ThemeReader } from './theme-reader.js'

/** Rows that a piece of work has read so far, all of one state of the tables. */
interface View {
  readonly wanted: Wanted
  /** name → table */
  tables: ReadonlyMap<string, FoundTable | undefined>
  all: ThemeAnswer['all']
  cells: readonly FoundCells[]
  timed: ThemeAnswer['timed']
}

/** Everything that a piece of work has asked for. */
interface Wanted {
  readonly names: Set<string>
  isListing: boolean
  readonly cells: WantedCells[]
  readonly timed: WantedTimed[]
  /** instants at which cells may be asked for */
  expectedUs: readonly bigint[]
}

/** Rows that work lacks. */
type Missing = Partial<Pick<ThemeQuestion, 'isListing' | 'cells' | 'timed'>> & {
  readonly names?: readonly string[]
}

/** Tables by name with their change times, which are asked for once in each state. */
type KnownChanges = ReadonlyMap<string, FoundTable>

/** Tables that are looked for before work begins; further ones are looked for when it lacks them. */
const MOST_NAMES = 64

/**
 * Creates a reader of themes whose rows are in a database far away. Searches read without a pause. So rows are fetched
 * before a piece of work begins; where it lacks more of them it is ended, they are fetched, and it begins again. The
 * thread serves other calls meanwhile. All rows of a piece of work are of one state of the tables, which is not older
 * than its begin.
 */
export function createFetchedThemes(rows: ThemeRows): ThemeReader {
  const current = new AsyncLocalStorage<View>()
  /** errors that end work → rows that it lacks */
  const missing = new WeakMap<object, Missing>()
  let known: KnownChanges = new Map()

  const viewNow = (): View => {
    const view = current.getStore()
    if (view === undefined) throw new Error('found a read of themes outside of withRows')
    return view
  }
  const lacks = (what: Missing): Error => {
    const error = new Error('rows of themes are not here yet')
    missing.set(error, what)
    return error
  }
  const fetchInto = async (view: View, what: Missing) => {
    await fetchRows({ rows, known }, view, what)
    known = withKnown(known, view.tables)
  }
  const foundTable = (tableId: number): [name: string, found: FoundTable] => {
    const { tables } = viewNow()
    for (const [name, found] of tables) if (found?.table.tableId === tableId) return [name, found]
    throw new Error(`found no table ${tableId} in the rows of this call`) // tables come from `findTable`
  }

  return {
    inSnapshot: (work) => work(),
    async withRows(names, work) {
      const view = newView()
      await fetchInto(view, { names: names.slice(0, MOST_NAMES) })
      for (;;) {
        try {
          return await current.run(view, work)
        } catch (error) {
          const what = missing.get(error as object)
          if (what === undefined) throw error
          await fetchInto(view, what)
        }
      }
    },
    expectInstants(instantsUs) {
      viewNow().wanted.expectedUs = instantsUs
    },
    findTable(name) {
      const { tables } = viewNow()
      if (!tables.has(name)) throw lacks({ names: [name] })
      return tables.get(name)?.table
    },
    listTables() {
      const { all } = viewNow()
      if (all === undefined) throw lacks({ isListing: true })
      return [...all]
    },
    versionOf: ({ tableId }) => foundTable(tableId)[1].version,
    changeTimes({ tableId }) {
      const { changes } = foundTable(tableId)[1]
      return changes == null ? undefined : [...changes]
    },
    readCells({ tableId }, _levelColumn, instantUs, visit) {
      const [name] = foundTable(tableId)
      const { cells, wanted } = viewNow()
      const found = cells.find((each) => each.name === name && isWithin(each, instantUs))
      if (found === undefined) throw lacks({ cells: [{ name, instantsUs: ahead(wanted, name, instantUs) }] })
      visitCells(found.cells, visit)
    },
    readTimedCells({ tableId }, _levelColumn, span, visit) {
      const [name] = foundTable(tableId)
      const found = viewNow().timed.find(
        (each) =>
          each.name === name && each.span.fromUs === span.fromUs && each.span.untilUs === span.untilUs,
      )
      if (found === undefined) throw lacks({ timed: [{ name, span }] })
      visitTimedCells(found.cells, visit)
    },
  }
}

function newView(): View {
  const wanted = { names: new Set<string>(), isListing: false, cells: [], timed: [], expectedUs: [] }
  return { wanted, tables: new Map(), all: undefined, cells: [], timed: [] }
}

function isWithin({ fromUs, untilUs }: FoundCells, instantUs: bigint): boolean {
  return fromUs <= instantUs && (untilUs === undefined || instantUs < untilUs)
}

/**
 * Returns the instants at which cells of a table are fetched: twice as many each time, because all that was searched
 * is searched again.
 */
function ahead({ cells, expectedUs }: Wanted, name: string, instantUs: bigint): bigint[] {
  const times = cells.filter((each) => each.name === name).length
  const later = expectedUs.filter((us) => us > instantUs)
  return [instantUs, ...later.slice(0, 2 ** times - 1)]
}

interface Fetching {
  readonly rows: ThemeRows
  readonly known: KnownChanges
}

/**
 * Fetches rows into a view. Where a table has changed since the first ones were fetched, all of them are fetched again
 * with one question, whose answer is of one state.
 */
async function fetchRows({ rows, known }: Fetching, view: View, what: Missing): Promise<void> {
  const { wanted } = view
  for (const name of what.names ?? []) wanted.names.add(name)
  wanted.isListing ||= what.isListing ?? false
  wanted.cells.push(...(what.cells ?? []))
  wanted.timed.push(...(what.timed ?? []))
  const names = [...wanted.names]
  const ask = async (cells: readonly WantedCells[], timed: readonly WantedTimed[]) => {
    const tables = names.map((name) => ({ name, known: stateOf(known.get(name)) }))
    const answer = await rows.read({ tables, isListing: wanted.isListing, cells, timed })
    return { answer, tables: tablesOf(names, answer, known) }
  }
  const { answer, tables } = await ask(what.cells ?? [], what.timed ?? [])
  if (isSameState(view.tables, tables)) {
    take(view, {
      ...answer,
      cells: [...view.cells, ...answer.cells],
      timed: [...view.timed, ...answer.timed],
    })
    view.tables = tables
  } else {
    const whole = await ask(wanted.cells, wanted.timed)
    take(view, whole.answer)
    view.tables = whole.tables
  }
}

function take(view: View, { all, cells, timed }: Pick<ThemeAnswer, 'all' | 'cells' | 'timed'>): void {
  Object.assign(view, { all, cells, timed })
}

function stateOf(found: FoundTable | undefined): { tableId: number; version: number } | undefined {
  return found && { tableId: found.table.tableId, version: found.version }
}

/** Returns the tables of an answer by name, with the change times that were known. */
function tablesOf(
  names: readonly string[],
  { tables }: ThemeAnswer,
  known: KnownChanges,
): ReadonlyMap<string, FoundTable | undefined> {
  return new Map(
    names.map((name, at) => {
      const found = tables[at]
      return [
        name,
        found?.changes === undefined ? found && { ...found, ...changesOf(known.get(name)) } : found,
      ]
    }),
  )
}

function changesOf(found: FoundTable | undefined): Pick<FoundTable, 'changes'> {
  return { changes: found?.changes }
}

/** True when every table that was there before is in the same state now. */
function isSameState(
  before: ReadonlyMap<string, FoundTable | undefined>,
  now: ReadonlyMap<string, FoundTable | undefined>,
): boolean {
  return [...before].every(([name, found]) => {
    const other = now.get(name)
    return other?.version === found?.version && other?.table.tableId === found?.table.tableId
  })
}

/** Most tables whose change times are kept. */
const MOST_KNOWN = 100

function withKnown(known: KnownChanges, tables: ReadonlyMap<string, FoundTable | undefined>): KnownChanges {
  const next = new Map(known)
  for (const [name, found] of tables) {
    next.delete(name)
    if (found !== undefined) next.set(name, found)
  }
  return new Map([...next].slice(-MOST_KNOWN))
}
