import { call } from '../core/rpc.js'
import { readTables } from '../core/tables.js'
import { readCitations, readDatasets } from '../datasets/read.js'
import type { ServedMap } from '../map/state.js'
import { readStores } from '../models/read.js'
import type { ExampleFacts } from './example.js'

/** Reads what examples may name; what the key may not read has no example. */
export async function readExampleFacts(): Promise<ExampleFacts> {
  const [maps, tables, datasets, citations, stores] = await Promise.all([
    orNone(async () => (await call<{ maps: ServedMap[] }>('routing.list_maps', {})).maps),
    orNone(readTables),
    orNone(readDatasets),
    orNone(readCitations),
    orNone(readStores),
  ])
  const [table, dataset] = [tables[0]?.data_name, datasets[0]?.short_form]
  const names = {
    ...{ data_name: table, table, dataset_name: dataset, dataset_label: dataset, source: dataset ?? table },
    ...{ citation_label: citations[0]?.long_form, model_store_ddc: stores[0]?.model_store_ddc },
  }
  const known = Object.entries(names).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { points: pointsOf(maps[0]), names: Object.fromEntries(known) }
}

async function orNone<T>(read: () => Promise<T[]>): Promise<T[]> {
  try {
    return await read()
  } catch {
    return [] // the example is emptier then
  }
}

/** Two points in the middle of a map, some way apart. */
function pointsOf(map: ServedMap | undefined): [number, number][] {
  if (map === undefined) return []
  const [west, south, east, north] = map.bbox
  const at = (share: number): [number, number] => [
    Math.round((west + (east - west) * share) * 1e5) / 1e5,
    Math.round((south + (north - south) * share) * 1e5) / 1e5,
  ]
  return [at(0.4), at(0.6)]
}
