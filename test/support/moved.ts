import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { API_PATHS, LOADER_PATH } from '../../src/gateway/apis.js'
import { call, DEFINITION, FEED_SETTINGS, until } from './feeds.js'
import { putModel } from './models.js'
import { startGateway, type TestGateway } from './start-gateway.js'

/** Rows of one call. */
const CALL_ROWS = 2000

/** Digests of the files of a data directory that hold data: not the lock, nor those that SQLite makes while it reads. */
export function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true }).map(String).sort()
  const kept = names.filter(
    (name) => !/(?:-wal|-shm|^lock\.db)$/.test(name) && statSync(path.join(dir, name)).isFile(),
  )
  return Object.fromEntries(
    kept.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(path.join(dir, name)))
        .digest('hex'),
    ]),
  )
}

/** A record of the table of the tests. */
export const recordAt = (k: number, note = `row ${k}`) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [139 + k / 1_000_000, 35] },
  properties: { k, note, speed: k / 2 },
})

/** Fills a data directory through a gateway, which is stopped then. */
export async function fillGateway(
  dataDir: string,
  {
    rows,
    models,
    modelBytes,
    citations,
  }: { rows: number; models: number; modelBytes: number; citations: number },
): Promise<void> {
  const stops: (() => unknown)[] = []
  const node = await startGateway(
    { testdir: () => dataDir, teardown: (work) => stops.push(work) },
    { dataDir, settings: FEED_SETTINGS },
  )
  try {
    await node.call(LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
    for (let at = 0; at < rows; at += CALL_ROWS) {
      const record_set = Array.from({ length: Math.min(CALL_ROWS, rows - at) }, (_, k) => recordAt(at + k))
      await node.call(LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'seen', record_set })
    }
    for (let at = 0; at < models; at++) {
      const answer = await putModel(node, Buffer.alloc(modelBytes, `model ${at} `))
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    }
    await cite(node, citations)
  } finally {
    for (const stop of stops) await stop()
  }
}

/** Makes citations: the first one of the table, the others of a dataset that changes between them. */
async function cite(node: TestGateway, count: number): Promise<void> {
  const dataset = <T>(method: string, params: object) => call<T>(node, API_PATHS.dataset, method, params)
  const columns = [
    { column_name: 'name', data_type: 'text' },
    { column_name: 'level', data_type: 'integer' },
  ]
  await dataset('dataset.create', { dataset_name: 'sites', columns, key_columns: ['name'] })
  for (let at = 0; at < count; at++) {
    const records = Array.from({ length: 100 }, (_, k) => [`site ${k % (10 + at)} of ${k}`, at])
    await dataset('dataset.record.put', { dataset_name: 'sites', records, on_conflict: 'update' })
    const source = at === 0 ? 'seen' : 'sites'
    await dataset('dataset.citation.create', { citation_label: `cited_${at}`, source })
  }
  const isDone = (found: { checksum: string | null }[]) => found.every(({ checksum }) => checksum !== null)
  await until(() => dataset<{ checksum: string | null }[]>('dataset.citation.list', {}), isDone)
}
