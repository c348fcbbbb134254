import { AppError } from '../../../errors.js'
import type { LoaderTable } from '../../tables.js'
import {
  createCellPacker,
  type FoundCells,
  type FoundTable,
  type PackedCells,
  type TableState,
  type ThemeAnswer,
  type ThemeQuestion,
  type ThemeRows,
  type WantedCells,
} from '../../theme-rows.js'
import type { TimedCellVisitor } from '../../themes.js'
import type { Rows } from '../connection/database.js'
import { codeOf } from '../connection/faults.js'
import { dataVersionOf } from '../tables/catalog.js'
import type { TablesContext } from '../tables/store.js'
import { changeTimes, readCells, readTimedCells } from './cells.js'

interface ThemeRowsOptions {
  /** integer column of levels */
  readonly levelColumn: string
  /** longest time of an answer, ms: its caller does not wait longer */
  readonly limitMs: number
  /** monotonic clock, ms */
  nowMs(): number
}

/** PostgreSQL's undefined_table: it was dropped after the state had begun. */
const NO_TABLE = '42P01'
/** Answers that begin again because a table was dropped meanwhile. */
const MOST_REPEATS = 3

/** Creates the reader of themes. Each answer is of one state of the primary, which has all rows acknowledged before. */
export function createThemeRows({ db, catalog }: TablesContext, options: ThemeRowsOptions): ThemeRows {
  return {
    async read(question) {
      const untilMs = options.nowMs() + options.limitMs
      const checkTime = () => {
        if (options.nowMs() > untilMs) throw new AppError('TIME_LIMIT', { limitMs: options.limitMs })
      }
      for (let repeats = 0; ; repeats++) {
        try {
          return await db.readState((rows) =>
            answer({ rows, catalog, levelColumn: options.levelColumn, checkTime }, question),
          )
        } catch (error) {
          if (codeOf(error) !== NO_TABLE || repeats === MOST_REPEATS) throw error
        }
      }
    },
  }
}

interface Reading extends Pick<TablesContext, 'catalog'> {
  readonly rows: Rows
  readonly levelColumn: string
  checkTime(): void
}

async function answer(reading: Reading, question: ThemeQuestion): Promise<ThemeAnswer> {
  const { rows, catalog, levelColumn } = reading
  const timeline = await timelineOf(rows)
  const byName = new Map<string, FoundTable | undefined>()
  for (const { name, known } of question.tables)
    byName.set(name, await findTable(reading, timeline, name, known))
  const all = question.isListing ? await catalog.list(rows) : undefined
  const cells: FoundCells[] = []
  for (const wanted of question.cells) {
    const table = byName.get(wanted.name)?.table
    if (table !== undefined) cells.push(...(await cellsAt(reading, table, wanted)))
  }
  const timed: ThemeAnswer['timed'][number][] = []
  for (const { name, span } of question.timed) {
    const table = byName.get(name)?.table
    if (table === undefined) continue
    const found = await packed(reading, (add) => readTimedCells(rows, table, levelColumn, span, add))
    timed.push({ name, span, cells: found })
  }
  return { tables: question.tables.map(({ name }) => byName.get(name)), all, cells, timed }
}

async function findTable(
  { rows, catalog }: Reading,
  timeline: number,
  name: string,
  known: TableState | undefined,
): Promise<FoundTable | undefined> {
  const table = await catalog.find(rows, name)
  const dataVersion = table === undefined ? undefined : await dataVersionOf(rows, table)
  if (table === undefined || dataVersion === undefined) return undefined
  const version = timeline * VERSIONS_OF_TIMELINE + dataVersion
  if (known?.tableId === table.tableId && known.version === version)
    return { table, version, changes: undefined }
  return { table, version, changes: (await changeTimes(rows, table)) ?? null }
}

/**
 * Versions of a table on one timeline of the database. A fail-over may lose writes that nobody was told of, and give
 * their versions to others: what is computed from rows must not outlast it.
 */
const VERSIONS_OF_TIMELINE = 2 ** 36

/** Returns the number of promotions of standbys in the life of the database; 0 on a server that is none any more. */
async function timelineOf(rows: Rows): Promise<number> {
  const sql = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
    AS timeline`
  return Number.parseInt((await rows.get<{ timeline: string | null }>(sql))?.timeline ?? '0', 16)
}

/** Reads the cells of each instant; once for several instants between two changes. */
async function cellsAt(reading: Reading, table: LoaderTable, wanted: WantedCells): Promise<FoundCells[]> {
  const { rows, levelColumn } = reading
  const { name, instantsUs } = wanted
  // of one instant the end of its slot does not matter
  const changes = instantsUs.length > 1 ? await changeTimes(rows, table) : undefined
  const found: FoundCells[] = []
  for (const instantUs of instantsUs) {
    const last = found.at(-1)
    if (last !== undefined && (last.untilUs === undefined || instantUs < last.untilUs)) continue
    const cells = await packed(reading, (add) =>
      readCells(rows, table, levelColumn, instantUs, (wkb, level) => add(wkb, level, null, null)),
    )
    // a cell that ends where it starts is valid at that instant alone
    const isExact = changes === undefined || changes.includes(instantUs)
    const untilUs = isExact ? instantUs + 1n : changes.find((us) => us > instantUs)
    found.push({ name, fromUs: instantUs, untilUs, cells })
  }
  return found
}

/** Packs the cells that `read` visits. @throws AppError TIME_LIMIT */
async function packed(
  { checkTime }: Reading,
  read: (add: TimedCellVisitor) => Promise<void>,
): Promise<PackedCells> {
  const packer = createCellPacker()
  await read((...cell) => {
    checkTime()
    packer.add(...cell)
  })
  return packer.pack()
}
