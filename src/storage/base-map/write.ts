import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs'
import {
  BASE_MAX_ZOOM,
  BASE_VERSION,
  type BaseMeta,
  type BaseSink,
  type NamedThing,
} from '../../basemap/format.js'
import type { Db } from '../sqlite/connection/database.js'
import { openFile } from '../sqlite/connection/open-file.js'
import { joinNames } from './join-names.js'
import { BASE_SCHEMA, MBTILES_ID, NAMES_SCHEMA } from './schema.js'

/** Digits of a tile's id: 96 bits of its digest. */
const ID_DIGITS = 24

/**
 * Creates a base file, an MBTiles file with places. Equal contents give equal bytes. The caller renames it when it
 * is complete.
 *
 * @param file must not exist
 */
export function createBaseFile(file: string): BaseSink {
  const db = openFile(file)
  db.pragma(`application_id = ${MBTILES_ID}`)
  db.pragma(`user_version = ${BASE_VERSION}`)
  // an incomplete file is deleted, a complete one synced before it gets its name
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -16384')
  db.exec('BEGIN')
  db.exec(BASE_SCHEMA)
  db.exec(NAMES_SCHEMA)
  const addTile = createTileWriter(db)
  const names = createNameWriter(db)
  let tiles = 0
  let minZoom = BASE_MAX_ZOOM
  return {
    addTile(z, x, y, packed) {
      tiles++
      minZoom = Math.min(minZoom, z)
      addTile(z, x, y, packed)
    },
    addName: names,
    finish(meta) {
      const places = joinNames(db)
      writeMetadata(db, meta, minZoom)
      db.exec('COMMIT')
      db.close()
      syncFile(file)
      return { bytes: statSync(file).size, tiles, places }
    },
    abandon() {
      db.close()
      rmSync(file, { force: true })
    },
  }
}

function createTileWriter(db: Db): BaseSink['addTile'] {
  const insertImage = db.prepare('INSERT OR IGNORE INTO images VALUES (?, ?)')
  const insertTile = db.prepare('INSERT INTO map VALUES (?, ?, ?, ?)')
  return (z, x, y, packed) => {
    const id = createHash('sha256').update(packed).digest('hex').slice(0, ID_DIGITS)
    insertImage.run(id, packed)
    insertTile.run(z, x, 2 ** z - 1 - y, id)
  }
}

function createNameWriter(db: Db): BaseSink['addName'] {
  const insert = db.prepare('INSERT INTO names VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  return ({ name, latin, otherNames, kind, rank, population, lngE7, latE7, bboxE7, weight }: NamedThing) => {
    insert.run(
      name,
      latin,
      JSON.stringify(otherNames),
      kind,
      rank,
      population,
      lngE7,
      latE7,
      ...bboxE7,
      weight,
    )
  }
}

/** Writes the metadata of MBTiles; `fieldgate` has all of `BaseMeta` as JSON. */
function writeMetadata(db: Db, meta: BaseMeta, minZoom: number): void {
  const [west, south, east, north] = meta.bbox
  const rows: Record<string, string> = {
    name: meta.name,
    format: 'pbf',
    type: 'baselayer',
    version: String(BASE_VERSION),
    description: `Base map of ${meta.builtFrom.file}, layers of Shortbread 1.0`,
    attribution: meta.attribution,
    bounds: meta.bbox.join(','),
    center: [(west + east) / 2, (south + north) / 2, 10].join(','),
    minzoom: String(minZoom),
    maxzoom: String(BASE_MAX_ZOOM),
    json: JSON.stringify({ vector_layers: meta.layers }),
    generator: meta.builtBy,
    fieldgate: JSON.stringify(meta),
  }
  const insert = db.prepare('INSERT INTO metadata VALUES (?, ?)')
  for (const [name, value] of Object.entries(rows)) insert.run(name, value)
}

function syncFile(file: string): void {
  const fd = openSync(file, 'r+')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
