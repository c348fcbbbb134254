import { AppError } from '../errors.js'
import type { FeatureColumn, FeatureKind, FeatureSource, FeatureSources } from '../storage/features.js'
import type { OgcRequest } from './types.js'

/** Words before the dot of a collection's id; what follows is the name, with whatever dots it has. */
const KINDS: readonly FeatureKind[] = ['table', 'dataset', 'citation']

/** Parameters of `items` that are no property. A column of such a name cannot be asked for. */
export const RESERVED = ['bbox', 'bbox-crs', 'crs', 'datetime', 'limit', 'f', 'after', 'before', 'resultType']

/** `table.rain`, `dataset.gauges`, `citation.flood-report_1795222384.123456` */
export function collectionId({ kind, name }: Pick<FeatureSource, 'kind' | 'name'>): string {
  return `${kind}.${name}`
}

/** Every collection that the caller may read. */
export async function listCollections(
  sources: FeatureSources,
  may: OgcRequest['may'],
): Promise<FeatureSource[]> {
  const lists = KINDS.filter((kind) => mayRead(kind, may)).map((kind) => sources.list(kind))
  return (await Promise.all(lists)).flat()
}

/** @throws AppError NOT_FOUND, also for what the caller may not read */
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

/** Columns that a query parameter of their name compares. */
export function queryables({ columns }: FeatureSource): FeatureColumn[] {
  return columns.filter(({ name, isQueryable }) => isQueryable && !RESERVED.includes(name))
}

function mayRead(kind: FeatureKind, may: OgcRequest['may']): boolean {
  return kind === 'table' ? may.tables : may.datasets
}
