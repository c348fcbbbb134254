import path from 'node:path'
import type { DatasetContext } from '../../src/api/dataset/index.js'
import { DATASET_METHODS } from '../../src/api/dataset/index.js'
import { datasetReads } from '../../src/datasets/reads.js'
import { isMarked } from '../../src/rpc/result.js'
import { adminCaller } from './caller.js'
import { type OpenedDatasets, openDatasets } from './datasets.js'
import { inlineReaders } from './inline-readers.js'
import { TIME_ZONE_MIN } from './tables.js'

export interface DatasetCalls extends OpenedDatasets {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  call(method: string, params?: unknown): Promise<any>
  /** everything that data.db holds, as text */
  dump(): string
}

type Tap = { testdir(): string; teardown(work: () => unknown): unknown }

/** The methods of the dataset API over a store in a file. */
export function openDatasetCalls(t: Tap): DatasetCalls {
  const opened = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(() => opened.close())
  const { signal } = new AbortController()
  const context: DatasetContext = {
    caller: adminCaller,
    signal,
    timeZoneMin: TIME_ZONE_MIN,
    datasets: opened.store,
    readers: inlineReaders(datasetReads(opened.reading)),
  }
  return {
    ...opened,
    async call(name, params = {}) {
      const method = DATASET_METHODS.find((one) => one.name === name)
      if (method === undefined) throw new Error(`no method ${name}`)
      const result = await method.call(params, context)
      return isMarked(result) && result.kind === 'streamedJson' ? await parsed(result.chunks) : result
    },
    dump() {
      const { reader } = opened.data
      const tables = reader
        .prepare<unknown[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .pluck()
        .all()
      return JSON.stringify(
        tables.map((name) => [name, reader.prepare(`SELECT * FROM "${name}"`).raw().safeIntegers().all()]),
        (_key, value) => (typeof value === 'bigint' ? String(value) : value),
      )
    },
  }
}

async function parsed(chunks: AsyncIterable<string>): Promise<unknown> {
  let text = ''
  for await (const chunk of chunks) text += chunk
  return JSON.parse(text)
}
