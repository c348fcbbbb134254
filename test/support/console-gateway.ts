import { copyFileSync } from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../src/config/config.js'
import { layoutOf, makeDirectories } from '../../src/files/layout.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { coordinatesOf, rankNodes } from '../../src/routing/cch/order.js'
import { boxRing } from './boxes.js'
import { makeGraph } from './make-graph.js'
import { startGateway, type TestGateway } from './start-gateway.js'
import { town } from './town.js'

type TestLike = Parameters<typeof startGateway>[0] & { testdir(): string }

/**
 * A gateway that serves a town of 7 by 7 crossings around 10.006° E, 50.006° N.
 *
 * @param baseFile a base map for it
 */
export async function townGateway(
  t: TestLike,
  settings: Settings = {},
  baseFile?: string,
): Promise<TestGateway> {
  const dataDir = path.join(t.testdir(), 'data')
  writeTown(dataDir, baseFile)
  return await startGateway(t, { dataDir, settings })
}

/** Writes the map of the town into a data directory. @param baseFile a base map for it */
export function writeTown(dataDir: string, baseFile?: string): void {
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  const graph = makeGraph(town(7))
  const nodeRank = rankNodes(graph, coordinatesOf(graph, graph.meta.bbox))
  writeGraphFile(path.join(layout.mapsDir, 'town.graph'), { ...graph, nodeRank })
  if (baseFile !== undefined) copyFileSync(baseFile, path.join(layout.mapsDir, 'town.mbtiles'))
}

const LOADER = '/api/v1/dataloaderapi/jsonrpc'

/** A risk theme whose only cell lies over the middle of the town from 10 to 11 o'clock on one day. */
export async function addFlood(gateway: Pick<TestGateway, 'call'>): Promise<void> {
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'flood',
    record_def: { cell: { udt_name: 'int4' }, risk: { udt_name: 'int2' } },
    unique_columns: ['cell', 'start_datetime'],
  })
  const [west, south, east, north] = [10.0035, 50.0015, 10.0085, 50.0105]
  const ring = boxRing(west, south, east, north)
  const cell = (start: string, end: string, risk: number) => ({
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { start_datetime: start, end_datetime: end, cell: 1, risk },
  })
  const { body } = await gateway.call(LOADER, 'loaderwebapi.add_record', {
    data_name: 'flood',
    record_set: [
      cell('2026-01-01T10:00:00Z', '2026-01-01T11:00:00Z', 10),
      cell('2026-01-01T11:00:00Z', '2026-01-01T12:00:00Z', 0),
    ],
  })
  if (body.result?.count_insert !== 2) throw new Error(JSON.stringify(body))
}

/** Something of everything that pages show. */
export async function fillGateway(gateway: TestGateway): Promise<void> {
  await addFlood(gateway)
  const DATASET = '/api/v2/dataset/jsonrpc'
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'level', data_type: 'double precision' },
    ],
    key_columns: ['id'],
  })
  const put = (records: unknown[], on_conflict: string) =>
    gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records, on_conflict })
  const cite = () =>
    gateway.call(DATASET, 'dataset.citation.create', { citation_label: 'report', source: 'gauges' })
  await put(
    [
      [1, 2.5],
      [2, 1],
    ],
    'error',
  )
  await cite()
  await put(
    [
      [1, 3.5],
      [3, 7],
    ],
    'update',
  )
  await cite()
  await gateway.call('/api/v2/model_store/jsonrpc', 'model_store.create', { model_store_ddc: 'rain' })
}
