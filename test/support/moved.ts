import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { LOADER_PATH } from '../../src/gateway/apis.js'
import { DEFINITION, FEED_SETTINGS } from './feeds.js'
import { putModel } from './models.js'
import { startGateway } from './start-gateway.js'

/** Rows of one call. */
const CALL_ROWS = 2000

/** Digests of the files of a data directory that hold data: not those that SQLite makes while it reads. */
export function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true }).map(String).sort()
  const kept = names.filter((name) => !/-(?:wal|shm)$/.test(name) && statSync(path.join(dir, name)).isFile())
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
  { rows, models, modelBytes }: { rows: number; models: number; modelBytes: number },
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
  } finally {
    for (const stop of stops) await stop()
  }
}
