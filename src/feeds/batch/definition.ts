import { createHash } from 'node:crypto'
import type { FeedStart } from '../../storage/exchange/feeds.js'
import type { Column, LoaderTable } from '../../storage/tables.js'

/** A column as nodes tell each other. */
export interface SentColumn {
  readonly name: string
  readonly udt_name: Column['udtName']
  readonly is_nullable: boolean
  readonly column_default: string | null
  readonly length: number | null
  readonly srid: number | null
}

/** Definition of a table as nodes tell each other; without the reserved columns, which every table has. */
export interface SentDefinition {
  readonly data_name: string
  readonly schema: string
  readonly columns: readonly SentColumn[]
  readonly unique_columns: readonly string[]
}

/** A table that a node offers to send. */
export interface TableOffer {
  /** node id of the sender */
  readonly node: string
  readonly feed: string
  /** id of the table at the sender */
  readonly table: string
  readonly epoch: number
  /** cursor of a feed that begins */
  readonly start: number
  readonly definition: SentDefinition
}

/** Rows of one origin and day, as nodes tell each other. */
export interface SentSum {
  readonly origin: string
  /** days since 1970 */
  readonly day: number
  readonly rows: number
  /** hex */
  readonly digest: string
  /** rows that retention has removed; absent for none */
  readonly removed?: number | undefined
}

/** Answer of a node that is asked for a table. */
export interface TableAnswer {
  /** UUID of the node that answers */
  readonly node: string
  /** id of the table there */
  readonly table: string
  readonly epoch: number
  readonly definition: SentDefinition
  readonly start: FeedStart
  /** last change of the table */
  readonly last: number
  /** of the rows that the feed gives, as of `last`; absent where they were not asked for */
  readonly sums?: readonly SentSum[]
  /** change up to which the feed gives no row after the one that was asked about; absent where none was */
  readonly scanned?: number
}

/** Number of columns at the beginning of each table that have no definition. */
const RESERVED = 3

/**
 * Returns the definition of a table, or of a part of its columns.
 *
 * @param wanted names of the columns; null for all
 */
export function sentDefinition(table: LoaderTable, wanted: readonly string[] | null): SentDefinition {
  const columns = table.columns.slice(RESERVED).filter(({ name }) => wanted === null || wanted.includes(name))
  return {
    data_name: table.dataName,
    schema: table.schema,
    columns: columns.map(({ name, udtName, isNullable, columnDefault, length, srid }) => ({
      ...{ name, udt_name: udtName, is_nullable: isNullable, column_default: columnDefault, length, srid },
    })),
    unique_columns: table.uniqueColumns,
  }
}

/** Returns why feeds do not carry a column; undefined for one that they carry. */
export function whyNotSendable({ isEncrypted, udtName }: Column): string | undefined {
  if (isEncrypted) return 'is encrypted with the key of this gateway'
  return udtName === 'file' ? 'holds files' : undefined
}

/** Properties of a column that two nodes compare: a default matters only where a row is put. */
function comparedOf({ udt_name, is_nullable, length, srid }: SentColumn): string {
  return JSON.stringify([udt_name, is_nullable, length, srid])
}

/** Returns the SHA-256, in hex, of what decides whether rows of a definition fit a table. */
export function definitionDigest({ columns, unique_columns: keys }: SentDefinition): string {
  const parts = columns.map((column) => [column.name, comparedOf(column)]).sort(byName)
  const text = JSON.stringify(['fieldgate-table-1', parts, [...keys].sort()])
  return createHash('sha256').update(text).digest('hex')
}

function byName([a = '']: readonly string[], [b = '']: readonly string[]): number {
  return a < b ? -1 : Number(a > b)
}

/** A column that two definitions have differently, in words. */
interface Difference {
  readonly column: string
  readonly here: string
  readonly there: string
}

/** Returns the columns in which two definitions of a table differ; the key as `unique_columns`. */
export function differences(here: SentDefinition, there: SentDefinition): Difference[] {
  const [ours, theirs] = [here, there].map(
    ({ columns }) => new Map(columns.map((column) => [column.name, column])),
  ) as [Map<string, SentColumn>, Map<string, SentColumn>]
  const names = [...new Set([...ours.keys(), ...theirs.keys()])]
  const columns = names.flatMap((column) => {
    const [a, b] = [ours.get(column), theirs.get(column)]
    const isSame = a !== undefined && b !== undefined && comparedOf(a) === comparedOf(b)
    return isSame ? [] : [{ column, here: inWords(a), there: inWords(b) }]
  })
  const [ourKey, theirKey] = [here, there].map((one) => [...one.unique_columns].sort().join(', '))
  if (ourKey === theirKey) return columns
  return [...columns, { column: 'unique_columns', here: ourKey ?? '', there: theirKey ?? '' }]
}

function inWords(column: SentColumn | undefined): string {
  if (column === undefined) return 'none'
  const length = column.length === null ? '' : `(${column.length})`
  const srid = column.srid === null ? '' : ` srid ${column.srid}`
  return `${column.udt_name}${length}${srid}${column.is_nullable ? '' : ' not null'}`
}
