import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'

export const PORTO = path.resolve('../shared/data/osm/porto_portugal.osm.pbf')

/**
 * Reason to skip tests on the real roads of Porto, false when the extract exists. For tap's `skip` option.
 */
export const missingPorto: string | false = existsSync(PORTO) ? false : `${PORTO} does not exist`

/**
 * Folder in which the files of one `npm test` share the map that the first of them builds; undefined for a
 * file that runs by itself, which builds its own.
 */
const SHARED = process.env.TEST_MAPS

/** Builds the map of Porto. */
export async function portoGraph(): Promise<Graph> {
  const file = SHARED === undefined ? undefined : path.join(SHARED, 'porto.graph')
  if (file !== undefined && existsSync(file)) return readGraph(sharedBytes(file), crc32)
  const parts = await buildMap({
    input: PORTO,
    profile: 'car',
    country: null,
    name: 'porto',
    builtBy: 'test',
  })
  const built = writeGraphShared(parts)
  if (file !== undefined) {
    // another file of tests may build it at the same time
    const own = `${file}.${process.pid}`
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(own, new Uint8Array(built))
    renameSync(own, file)
  }
  return readGraph(built, crc32)
}

function sharedBytes(file: string): SharedArrayBuffer {
  const bytes = readFileSync(file)
  const shared = new SharedArrayBuffer(bytes.length)
  new Uint8Array(shared).set(bytes)
  return shared
}
