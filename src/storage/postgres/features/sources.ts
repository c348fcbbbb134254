import { isInfinite } from '../../../datetime.js'
import type { FeatureExtent, FeatureSources } from '../../features.js'
import { tableSource } from '../../records/table-source.js'
import type { LoaderTable, TableReader } from '../../tables.js'
import type { PostgresDb, Rows } from '../connection/database.js'

interface FeatureSourcesOptions {
  readonly tables: TableReader
  /** true where features are read without a key: encrypted columns are left out then */
  readonly isOpen: boolean
}

/** Opens the feature sources of a hub: its loader tables. Datasets and citations are none of PostgreSQL's yet. */
export function createFeatureSources(
  { read }: Pick<PostgresDb, 'read'>,
  { tables, isOpen }: FeatureSourcesOptions,
): FeatureSources {
  const sourceOf = (table: LoaderTable) =>
    tableSource(table, { tables, isOpen, extent: () => extentOf(read, table) })
  return {
    async find(kind, name) {
      const table = kind === 'table' ? await tables.find(name) : undefined
      // methods accept other spellings; a collection has one address
      return table?.dataName === name ? sourceOf(table) : undefined
    },
    list: async (kind) => (kind === 'table' ? (await tables.list()).map(sourceOf) : []),
  }
}

interface Bounds {
  west: number | null
  south: number | null
  east: number | null
  north: number | null
}

/** Reads the bounds that writers keep: those of all rows that were ever put. */
async function extentOf(rows: Rows, { tableId }: LoaderTable): Promise<FeatureExtent> {
  const box = await rows.get<Bounds>(
    'SELECT west, south, east, north FROM loader_state WHERE table_id = $1',
    tableId,
  )
  const times = 'SELECT starts_us, ends_us FROM loader_state WHERE table_id = $1'
  const [[start, end] = []] = await rows.lists(times, [tableId], 'kept')
  const { west = null, south = null, east = null, north = null } = box ?? {}
  const isPlaced = west !== null && south !== null && east !== null && north !== null
  const hasRows = typeof start === 'string' && typeof end === 'string'
  return {
    bbox: isPlaced ? [west, south, east, north] : undefined,
    interval: hasRows ? [finite(BigInt(start)), finite(BigInt(end))] : undefined,
  }
}

function finite(us: bigint): bigint | null {
  return isInfinite(us) ? null : us
}
