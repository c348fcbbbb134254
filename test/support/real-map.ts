import { existsSync } from 'node:fs'
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

/** Builds the map of Porto. */
export async function portoGraph(): Promise<Graph> {
  const parts = await buildMap({
    input: PORTO,
    profile: 'car',
    country: null,
    name: 'porto',
    builtBy: 'test',
  })
  return readGraph(writeGraphShared(parts), crc32)
}
