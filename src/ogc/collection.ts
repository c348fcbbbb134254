import { AppError } from '../errors.js'
import type { FeatureColumn, FeatureKind, FeatureSource, FeatureSources } from '../storage/features.js'
import type { OgcRequest } from './types.js'

/** Prefixes of collection ids. The name after the first dot may contain dots. */
const KINDS: readonly FeatureKind[] = ['table', 'dataset', 'citation']

/** Parameters of `items` that are not properties. A column with such a name cannot be queried. */
export const RESERVED = ['bbox', 'bbox-crs', 'crs', 'datetime', 'limit', 'f', 'after', 'before', 'resultType']

/** Returns the id of a collection: `table.rain`, `citation.flood-report_1795222384.123456`. */
export function collectionId({ kind, name }: Pick<FeatureSource, 'kind' | 'name'>): string {
  return `${kind}.${name}`
}

/** Returns the collections that the caller may read. */
export async function listCollections(
  sources: FeatureSources,
  may: OgcRequest['may'],
): Promise<FeatureSource[]> {
  const lists = KINDS.filter((kind) => mayRead(kind, may)).map((kind) => sources.list(kind))
  return (await Promise.all(lists)).flat()
}

/** Finds a collection. @throws AppError NOT_FOUND, also when the caller may not read it */
export async function findCollection(
  sources: FeatureSources,
  id: string,
  may: OgcRequest['may'],
): Promise<FeatureSource> {
  const kind = KINDS.find((one) => id.startsWith(`${one}.`))
  const found =
    kind !== undefined && mayRead(kind, may) ? await sources.find(kind, id.slice(kind.length + 1)) : undefined
  if (found !== undefined) return found
  const message = `Collection: found ${JSON.stringify(id.slice(0, 100))}, expected one that /ogc/collections lists`
  throw new AppError('NOT_FOUND', {}, { message })
}

/** Returns the columns that a query parameter of the same name compares. */
export function queryables({ columns }: FeatureSource): FeatureColumn[] {
  return columns.filter(({ name, isQueryable }) => isQueryable && !RESERVED.includes(name))
}

function mayRead(kind: FeatureKind, may: OgcRequest['may']): boolean {
  return kind === 'table' ? may.tables : may.datasets
}
