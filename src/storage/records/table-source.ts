import { typeOf } from '../columns/column-types.js'
import type { FeatureExtent, FeatureSource } from '../features.js'
import type { LoaderTable, QueryPaths, TableReader } from '../tables.js'

/** Names of the parts of a query of features. */
export const FEATURE_PATHS: QueryPaths = { conds: 'query', order: 'query', columns: 'query' }

interface TableSourceOptions {
  readonly tables: Pick<TableReader, 'dataVersion' | 'pages' | 'count'>
  /** true where features are read without a key: encrypted columns are left out then */
  readonly isOpen: boolean
  extent(): Promise<FeatureExtent>
}

/** Makes the feature source of a loader table. */
export function tableSource(
  table: LoaderTable,
  { tables, isOpen, extent }: TableSourceOptions,
): FeatureSource {
  const shown = table.columns.filter(
    ({ name, file, isEncrypted }) => name !== 'location' && file === null && !(isEncrypted && isOpen),
  )
  const names = shown.map(({ name }) => name)
  return {
    kind: 'table',
    name: table.dataName,
    description: `Data loader table ${table.schema}.${table.tableName}`,
    columns: shown.map(({ name, udtName, isNullable, isEncrypted }) => ({
      name,
      udtName,
      isNullable,
      isQueryable: !isEncrypted && typeOf(udtName).order !== null,
    })),
    hasGeometry: true,
    hasPeriod: true,
    version: async () => `${table.tableId}.${await tables.dataVersion(table)}`,
    extent,
    pages: (query, signal) =>
      tables.pages(table, { ...query, columns: names, isNowhereIn: true }, signal, FEATURE_PATHS),
    count: (query, signal) => tables.count(table, { ...query, isNowhereIn: true }, signal, FEATURE_PATHS),
  }
}
