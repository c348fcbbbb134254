import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import {
  type OsmData,
  type OsmNode,
  type OsmRelation,
  type OsmWay,
  type WriteOptions,
  writeExtract,
} from '../../src/demo/write-extract.js'
import { type BaseOptions, type BuiltBase, buildBase } from '../../src/mapbuild/base/build-base.js'
import { createBaseFile } from '../../src/storage/base-map/write.js'

/** Collector of a small extract around 10° E, 45° N, placed in metres east and north. */
export function createPlot() {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const relations: OsmRelation[] = []
  const node = (eastM: number, northM: number, tags?: Record<string, string>) => {
    const id = nodes.length + 1
    nodes.push({ id, lng: 10 + eastM / 78_850, lat: 45 + northM / 111_130, ...(tags ? { tags } : {}) })
    return id
  }
  const way = (refs: readonly number[], tags?: Record<string, string>) => {
    const id = ways.length + 1
    ways.push({ id, refs, ...(tags ? { tags } : {}) })
    return id
  }
  return {
    node,
    way,
    /** a closed way around a box; the ids of its nodes */
    box(westM: number, southM: number, sideM: number, tags?: Record<string, string>) {
      const east = westM + sideM
      const north = southM + sideM
      const corners = [
        [westM, southM],
        [east, southM],
        [east, north],
        [westM, north],
      ] as const
      const refs = corners.map(([x, y]) => node(x, y))
      way([...refs, refs[0]!], tags)
      return refs
    },
    multipolygon(members: readonly (readonly [way: number, role: string])[], tags: Record<string, string>) {
      const id = relations.length + 1
      relations.push({
        id,
        tags: { type: 'multipolygon', ...tags },
        members: members.map(([each, role]) => ({ type: 'way' as const, id: each, role })),
      })
      return id
    },
    data: (): OsmData => ({ nodes, ways, relations }),
  }
}

/** Builds the base map of an extract in a folder that the test removes. */
export async function baseOf(
  t: Test,
  data: OsmData | Uint8Array,
  options: Partial<BaseOptions> = {},
  write: WriteOptions = {},
): Promise<BuiltBase & { file: string; dir: string }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-base-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const input = path.join(dir, 'plot.osm.pbf')
  writeFileSync(input, data instanceof Uint8Array ? data : writeExtract(data, write))
  return { ...(await buildFrom(input, dir, options)), dir }
}

export async function buildFrom(
  input: string,
  dir: string,
  options: Partial<BaseOptions> = {},
): Promise<BuiltBase & { file: string }> {
  const file = path.join(dir, 'plot.mbtiles')
  rmSync(file, { force: true })
  const built = await buildBase({
    input,
    name: 'plot',
    builtBy: 'fieldgate test',
    attribution: '© OpenStreetMap contributors',
    licence: 'ODbL-1.0',
    tempStem: file,
    sink: createBaseFile(file),
    ...options,
  })
  return { ...built, file }
}
