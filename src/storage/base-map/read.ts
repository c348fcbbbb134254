import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { BASE_VERSION, type BaseMeta } from '../../basemap/format.js'
import { AppError, messageOf } from '../../errors.js'
import type { Db } from '../sqlite/connection/database.js'
import { openFile } from '../sqlite/connection/open-file.js'
import { createPlaceFinder, type FoundPlace } from './find-places.js'
import { MBTILES_ID } from './schema.js'

/** An open base file. */
export interface BaseFile {
  readonly meta: BaseMeta
  readonly minZoom: number
  readonly maxZoom: number
  readonly sizeBytes: number
  /**
   * Returns a tile, packed by gzip, and a tag that only equal tiles share; undefined for an empty one.
   *
   * @throws AppError BAD_BASE_MAP when the file is damaged there
   */
  tile(z: number, x: number, y: number): { packed: Uint8Array; tag: string } | undefined
  /** Returns places by name, the best first. @throws AppError BAD_BASE_MAP */
  findPlaces(text: string, limit: number): FoundPlace[]
  /** Reads the whole file. @returns the faults of SQLite's check; empty for none */
  check(): string[]
  close(): void
}

const MAGIC = 'SQLite format 3\0'
/** Header of an SQLite file, and the places of two of its fields. */
const HEADER_BYTES = 100
const AT_PAGE_SIZE = 16
const AT_PAGE_COUNT = 28
/** Page cache, KiB: tiles are read once and kept by browsers. */
const CACHE_KIB = 512
const MAX_FAULTS = 10

/**
 * Opens a base file that `map build --base` made. Reads its metadata, not its tiles.
 *
 * @throws AppError BAD_BASE_MAP for any other file; errors of the file system
 */
export function openBaseFile(file: string): BaseFile {
  const sizeBytes = statSync(file).size
  checkHeader(file, sizeBytes)
  const db = openFile(file, { readonly: true, fileMustExist: true })
  try {
    db.pragma(`cache_size = -${CACHE_KIB}`)
    db.pragma('trusted_schema = OFF')
    const meta = readMeta(db)
    return { ...createReader(db), ...meta, sizeBytes, close: () => void db.close() }
  } catch (error) {
    db.close()
    throw badBase(error)
  }
}

function createReader(db: Db): Pick<BaseFile, 'tile' | 'findPlaces' | 'check'> {
  const select = db.prepare<[number, number, number], { tile_id: string; tile_data: Uint8Array }>(
    'SELECT tile_id, tile_data FROM map JOIN images USING (tile_id) WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?',
  )
  const finder = createPlaceFinder(db)
  return {
    tile: (z, x, y) =>
      reading(() => {
        const row = select.get(z, x, 2 ** z - 1 - y)
        return row && { packed: row.tile_data, tag: row.tile_id }
      }),
    findPlaces: (text, limit) => reading(() => finder(text, limit)),
    check: () =>
      (db.pragma(`quick_check(${MAX_FAULTS})`) as { quick_check: string }[])
        .map((row) => row.quick_check)
        .filter((line) => line !== 'ok'),
  }
}

/** Checks the header of an SQLite file: its first letters, and its size in pages. */
function checkHeader(file: string, sizeBytes: number): void {
  const bytes = Buffer.alloc(HEADER_BYTES)
  const fd = openSync(file, 'r')
  try {
    readSync(fd, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(fd)
  }
  const start = bytes.toString('latin1', 0, MAGIC.length)
  if (start !== MAGIC)
    throw refuse(`this is no MBTiles file: it begins with ${JSON.stringify(start.slice(0, 8))}`)
  const expected = bytes.readUInt16BE(AT_PAGE_SIZE) * bytes.readUInt32BE(AT_PAGE_COUNT)
  if (sizeBytes < expected)
    throw refuse(`the file has ${sizeBytes} bytes, expected ${expected}: it is cut short`)
}

function readMeta(db: Db): Pick<BaseFile, 'meta' | 'minZoom' | 'maxZoom'> {
  if (db.pragma('application_id', { simple: true }) !== MBTILES_ID)
    throw refuse('this SQLite file is no MBTiles file: its application id is another')
  const rows = db
    .prepare<[], { name: string; value: string }>('SELECT name, value FROM metadata LIMIT 100')
    .all()
  const values = new Map(rows.map(({ name, value }) => [name, value]))
  const text = values.get('fieldgate')
  if (text === undefined) throw refuse('these tiles were not made by `fieldgate map build --base`')
  const version = Number(db.pragma('user_version', { simple: true }))
  if (version > BASE_VERSION)
    throw refuse(
      `the base map has version ${version}, this program reads up to ${BASE_VERSION}: update the program`,
    )
  const meta = JSON.parse(text) as BaseMeta
  if (!Array.isArray(meta.bbox) || !Array.isArray(meta.layers)) throw refuse('its metadata are damaged')
  return { meta, minZoom: Number(values.get('minzoom')), maxZoom: Number(values.get('maxzoom')) }
}

function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw badBase(error)
  }
}

function badBase(error: unknown): unknown {
  if (error instanceof AppError) return error
  return refuse(`it cannot be read (${messageOf(error)})`, error)
}

function refuse(reason: string, cause?: unknown): AppError {
  return new AppError(
    'BAD_BASE_MAP',
    { reason },
    { message: `the base map cannot be used: ${reason}`, cause },
  )
}
