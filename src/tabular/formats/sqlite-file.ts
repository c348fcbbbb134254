import { fileFault } from '../faults.js'

/** Value of a record: null, numbers, text, bytes. Integers beyond 2^53 are text. */
export type SqliteValue = null | number | string | Uint8Array

/** Tables of an SQLite database file, read without SQLite: browsers have none. */
export interface SqliteFile {
  /** Returns the columns of a table; undefined when there is none. */
  table(name: string): SqliteTable | undefined
  /** Reads the rows of a table in the order of their ids, in batches. @throws FileFault BAD_DATABASE */
  rows(table: SqliteTable, onRead?: (share: number) => void): AsyncGenerator<SqliteRow[]>
}

export interface SqliteTable {
  readonly rootPage: number
  readonly columns: readonly { readonly name: string; readonly definition: string }[]
}

export interface SqliteRow {
  readonly rowId: number
  readonly values: readonly SqliteValue[]
}

/** Begins every database file. */
const MAGIC = 'SQLite format 3\0'
const HEADER_BYTES = 100
const INTERIOR = 0x05
const LEAF = 0x0d
/** Deeper trees have more pages than a file can have. */
const MAX_DEPTH = 20
/** Longest record. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024
/** Bytes that are read at once, and how many such pieces are kept. */
const PIECE_BYTES = 256 * 1024
const KEPT_PIECES = 32

/** Decoder of the text of a database. */
type Decoder = { decode(bytes: Uint8Array): string }

/** A database file: its pages, and what its header says. */
interface Pages {
  readonly size: number
  /** bytes of a page without the reserved ones at its end */
  readonly usable: number
  readonly pageCount: number
  readonly text: Decoder
  /** @param n from 1 */
  read(n: number): Promise<Uint8Array>
}

/**
 * Opens an SQLite database file.
 *
 * @throws FileFault BAD_DATABASE
 * @see https://www.sqlite.org/fileformat2.html
 */
export async function openSqliteFile(blob: Blob): Promise<SqliteFile> {
  const pages = await openPages(blob)
  const tables = new Map<string, SqliteTable>()
  // sqlite_schema: type, name, tbl_name, rootpage, sql
  for await (const rows of readRows(pages, 1)) {
    for (const { values } of rows) {
      const [type, name, , rootPage, sql] = values
      if (type !== 'table' || typeof name !== 'string' || typeof rootPage !== 'number') continue
      tables.set(name.toLowerCase(), { rootPage, columns: columnsOf(String(sql ?? '')) })
    }
  }
  return {
    table: (name) => tables.get(name.toLowerCase()),
    rows: ({ rootPage }, onRead) => readRows(pages, rootPage, onRead),
  }
}

async function openPages(blob: Blob): Promise<Pages> {
  const header = new Uint8Array(await blob.slice(0, HEADER_BYTES).arrayBuffer())
  if (header.length < HEADER_BYTES || new TextDecoder().decode(header.subarray(0, 16)) !== MAGIC)
    throw bad('it is not an SQLite database')
  const view = new DataView(header.buffer)
  const stated = view.getUint16(16)
  const size = stated === 1 ? 65_536 : stated
  if (size < 512 || (size & (size - 1)) !== 0) throw bad(`found a page size of ${size}`)
  const pageCount = Math.floor(blob.size / size)
  if (view.getUint32(28) > pageCount)
    throw bad(`found ${blob.size} bytes, expected ${view.getUint32(28) * size}`)
  const encoding = ['utf-8', 'utf-8', 'utf-16le', 'utf-16be'][view.getUint32(56)] ?? 'utf-8'
  const perPiece = Math.max(1, PIECE_BYTES / size)
  const kept = new Map<number, Uint8Array>()
  const pieceOf = async (piece: number) => {
    const known = kept.get(piece)
    if (known !== undefined) return known
    const from = piece * perPiece * size
    const bytes = new Uint8Array(await blob.slice(from, from + perPiece * size).arrayBuffer())
    const [oldest] = kept.keys()
    if (kept.size >= KEPT_PIECES && oldest !== undefined) kept.delete(oldest)
    kept.set(piece, bytes)
    return bytes
  }
  return {
    ...{ size, usable: size - (header[20] ?? 0), pageCount, text: new TextDecoder(encoding) },
    async read(n) {
      if (n < 1 || n > pageCount) throw bad(`found a reference to page ${n} of ${pageCount}`)
      const bytes = await pieceOf(Math.floor((n - 1) / perPiece))
      const from = ((n - 1) % perPiece) * size
      return bytes.subarray(from, from + size)
    },
  }
}

/** Walks a table's tree from left to right; one batch a leaf. */
async function* readRows(
  pages: Pages,
  rootPage: number,
  onRead?: (share: number) => void,
): AsyncGenerator<SqliteRow[]> {
  try {
    yield* walkRows(pages, rootPage, onRead)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error // a reference that leads outside its page
    throw bad('found a page with a wrong reference')
  }
}

async function* walkRows(
  pages: Pages,
  rootPage: number,
  onRead?: (share: number) => void,
): AsyncGenerator<SqliteRow[]> {
  let visited = 0
  async function* walk(page: number, depth: number): AsyncGenerator<SqliteRow[]> {
    if (depth > MAX_DEPTH || ++visited > pages.pageCount) throw bad('found a tree of pages in a circle')
    const bytes = await pages.read(page)
    const view = viewOf(bytes)
    const at = page === 1 ? HEADER_BYTES : 0
    const kind = bytes[at]
    const cells = view.getUint16(at + 3)
    onRead?.(visited / pages.pageCount)
    if (kind === INTERIOR) {
      for (let i = 0; i < cells; i++) yield* walk(view.getUint32(cellAt(view, at + 12, i)), depth + 1)
      yield* walk(view.getUint32(at + 8), depth + 1)
    } else if (kind === LEAF) {
      const rows: SqliteRow[] = []
      for (let i = 0; i < cells; i++) rows.push(await readCell(pages, bytes, cellAt(view, at + 8, i)))
      yield rows
    } else throw bad(`found a page of kind ${kind}, expected a table`)
  }
  yield* walk(rootPage, 0)
}

function cellAt(view: DataView, pointers: number, i: number): number {
  const at = pointers + i * 2
  if (at + 2 > view.byteLength) throw bad('found a page with more cells than it holds')
  const cell = view.getUint16(at)
  if (cell + 4 > view.byteLength) throw bad('found a cell outside its page')
  return cell
}

/** Reads a cell of a leaf: size, row id, payload with what does not fit on pages of its own. */
async function readCell(pages: Pages, page: Uint8Array, cell: number): Promise<SqliteRow> {
  const size = varint(page, cell)
  const rowId = varint(page, size.next)
  if (size.value > MAX_RECORD_BYTES) throw bad(`found a record of ${size.value} bytes`)
  const payload = await payloadOf(pages, page, rowId.next, Number(size.value))
  return { rowId: Number(rowId.value), values: valuesOf(payload, pages.text) }
}

async function payloadOf(pages: Pages, page: Uint8Array, from: number, size: number): Promise<Uint8Array> {
  const { usable } = pages
  const most = usable - 35
  if (size <= most) return page.subarray(from, from + size)
  // the share of a long payload that stays in the tree, as the format defines it
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const wanted = least + ((size - least) % (usable - 4))
  const local = wanted <= most ? wanted : least
  const payload = new Uint8Array(size)
  payload.set(page.subarray(from, from + local))
  let next = viewOf(page).getUint32(from + local)
  for (let at = local; at < size; ) {
    const bytes = await pages.read(next)
    const part = bytes.subarray(4, Math.min(usable, 4 + size - at))
    payload.set(part, at)
    at += part.length
    next = viewOf(bytes).getUint32(0)
  }
  return payload
}

/** Values of a record: a header of types, then the values one after the other. */
function valuesOf(payload: Uint8Array, text: Decoder): SqliteValue[] {
  const head = varint(payload, 0)
  const headEnd = Number(head.value)
  const values: SqliteValue[] = []
  let at = headEnd
  for (let typeAt = head.next; typeAt < headEnd; ) {
    const type = varint(payload, typeAt)
    typeAt = type.next
    const kind = Number(type.value)
    const size = sizeOf(kind)
    if (at + size > payload.length) throw bad('found a record that is longer than its bytes')
    values.push(sqliteValue(kind, payload.subarray(at, at + size), text))
    at += size
  }
  return values
}

const SIZES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]

function sizeOf(kind: number): number {
  return kind < 12 ? (SIZES[kind] ?? 0) : Math.floor((kind - 12) / 2)
}

function sqliteValue(kind: number, bytes: Uint8Array, text: Decoder): SqliteValue {
  if (kind === 0) return null
  if (kind === 8 || kind === 9) return kind - 8
  if (kind === 7) return viewOf(bytes).getFloat64(0)
  if (kind < 7) return integerOf(bytes)
  return kind % 2 === 0 ? bytes.slice() : text.decode(bytes)
}

/** Big-endian two's complement. */
function integerOf(bytes: Uint8Array): number | string {
  let value = 0n
  for (const byte of bytes) value = value * 256n + BigInt(byte)
  const signed = BigInt.asIntN(bytes.length * 8, value)
  const number = Number(signed)
  return Number.isSafeInteger(number) ? number : String(signed)
}

/** Number of 1 to 9 bytes, seven bits in each of the first eight. */
function varint(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0
  for (let i = 0; i < 9; i++) {
    const byte = bytes[from + i]
    if (byte === undefined) throw bad('found a number outside its page')
    if (i === 8) return { value: value * 256 + byte, next: from + 9 }
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, next: from + i + 1 }
  }
  throw bad('found a number that does not end')
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Columns of the text of a CREATE TABLE statement, without its constraints. */
function columnsOf(sql: string): SqliteTable['columns'] {
  const body = sql.slice(sql.indexOf('(') + 1, sql.lastIndexOf(')'))
  const parts: string[] = []
  let [depth, part] = [0, '']
  for (const [token] of body.matchAll(
    /"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|'(?:[^']|'')*'|--[^\n]*|[\s\S]/g,
  )) {
    if (token.startsWith('--')) continue
    if (token === '(') depth++
    if (token === ')') depth--
    if (token === ',' && depth === 0) {
      parts.push(part)
      part = ''
    } else part += token
  }
  return [...parts, part]
    .map((each) => each.trim())
    .filter((each) => each !== '' && !/^(?:constraint|primary|unique|check|foreign)\b/i.test(each))
    .map((definition) => {
      const name = /^(?:"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^\s(]+))/.exec(definition)
      const [, quoted, ticked, bracketed, bare] = name ?? []
      return { name: quoted?.replaceAll('""', '"') ?? ticked ?? bracketed ?? bare ?? '', definition }
    })
}

function bad(reason: string): Error {
  return fileFault('BAD_DATABASE', { reason })
}
