import { formatDatetimeShort } from '../datetime.js'
import { AppError } from '../errors.js'
import type { FeatureSource } from '../storage/features.js'
import type { TableRow } from '../storage/tables.js'
import { collectionId } from './collection.js'
import type { Counter } from './count.js'
import { featurePieces, featureText } from './feature-text.js'
import { featureHtml, itemsHtml } from './html-items.js'
import type { ItemsPage, PageEnd } from './items-page.js'
import { crsOf, type ItemsQuery, readItemsQuery, requireKnown } from './items-query.js'
import {
  GEOJSON_TYPE,
  HTML_TYPE,
  type Link,
  type OgcAnswer,
  type OgcOptions,
  type OgcRequest,
  type Page,
} from './types.js'

/** Answers `GET /collections/{id}/items`. */
export function answerItems(
  request: OgcRequest,
  page: Page,
  source: FeatureSource,
  options: OgcOptions,
  counter: Counter,
): OgcAnswer {
  const query = readItemsQuery(request.query, source, options)
  const end: PageEnd = { firstId: undefined, lastId: undefined, count: 0, hasMore: false }
  const items: ItemsPage = {
    source,
    query,
    rows: readRows(source, query, end, request.signal),
    end,
    links: () => linksOf(request, page, source, query, end),
    numberMatched: () => counter.count(source, query, request.signal),
    timeStamp: () => formatDatetimeShort(BigInt(options.nowUs()), 0).replace('+00:00', 'Z'),
  }
  const isHtml = page.format === 'html'
  return {
    type: isHtml ? HTML_TYPE : GEOJSON_TYPE,
    body: isHtml ? itemsHtml(page, items) : collectionText(items),
    headers: { 'Content-Crs': `<${query.crs.uri}>` },
  }
}

/** Answers `GET /collections/{id}/items/{id}`. */
export async function answerItem(
  request: OgcRequest,
  page: Page,
  source: FeatureSource,
  featureId: string,
): Promise<OgcAnswer> {
  requireKnown(request.query, ['f', 'crs'])
  const crs = crsOf(request.query, 'crs')
  const row = /^\d{1,15}$/.test(featureId)
    ? await readRow(source, Number(featureId), request.signal)
    : undefined
  if (row === undefined) {
    const message = `Feature: found ${JSON.stringify(featureId.slice(0, 40))}, expected the id of one of ${collectionId(source)}`
    throw new AppError('NOT_FOUND', {}, { message })
  }
  const collection = `${page.baseUrl}/collections/${encodeURIComponent(collectionId(source))}`
  const self = `${collection}/items/${row.rowId}`
  const isHtml = page.format === 'html'
  const links: Link[] = [
    { href: self, rel: isHtml ? 'alternate' : 'self', type: GEOJSON_TYPE, title: 'This feature' },
    {
      href: `${self}?f=html`,
      rel: isHtml ? 'self' : 'alternate',
      type: 'text/html',
      title: 'This feature as HTML',
    },
    { href: collection, rel: 'collection', type: 'application/json', title: source.name },
  ]
  return {
    type: isHtml ? HTML_TYPE : GEOJSON_TYPE,
    body: isHtml ? featureHtml(page, source, row) : wholeText(featurePieces(row, source.columns, crs, links)),
    headers: { 'Content-Crs': `<${crs.uri}>` },
  }
}

/** Yields pieces in the form of an answer. */
async function* wholeText(pieces: Generator<string>): AsyncGenerator<string> {
  yield* pieces
}

async function readRow(
  source: FeatureSource,
  id: number,
  signal: AbortSignal,
): Promise<TableRow | undefined> {
  for await (const [row] of source.pages({ afterId: id - 1, beforeId: id + 1, limit: 1 }, signal)) return row
  return undefined
}

/**
 * Yields the rows of a page. One more row than the limit is read: it shows whether there is a next page. A
 * page that is read from its end is followed by a look for rows before it.
 */
async function* readRows(
  source: FeatureSource,
  query: ItemsQuery,
  end: PageEnd,
  signal: AbortSignal,
): AsyncGenerator<TableRow[]> {
  if (query.isCountOnly) return
  const { filter, limit, afterId, beforeId } = query
  const isFromEnd = beforeId !== undefined
  const ids = {
    ...(afterId === undefined ? {} : { afterId }),
    ...(beforeId === undefined ? {} : { beforeId }),
  }
  const pages = source.pages({ ...filter, ...ids, limit: isFromEnd ? limit : limit + 1, isFromEnd }, signal)
  for await (const page of pages) {
    const shown = page.slice(0, limit - end.count)
    if (shown.length < page.length) end.hasMore = true
    end.firstId ??= shown[0]?.rowId
    end.lastId = shown.at(-1)?.rowId ?? end.lastId
    end.count += shown.length
    if (shown.length > 0) yield shown
  }
  if (isFromEnd && end.firstId !== undefined)
    end.hasMore = await isAnyBefore(source, query, end.firstId, signal)
}

/** Returns whether a feature before an id matches. */
async function isAnyBefore(
  source: FeatureSource,
  { filter }: ItemsQuery,
  beforeId: number,
  signal: AbortSignal,
): Promise<boolean> {
  const before = source.pages({ ...filter, beforeId, isFromEnd: true, limit: 1 }, signal)
  for await (const page of before) if (page.length > 0) return true
  return false
}

/** Yields a FeatureCollection while rows are read; links and counts follow the features. */
async function* collectionText(items: ItemsPage): AsyncGenerator<string> {
  const { source, query } = items
  let before = '{"type":"FeatureCollection","features":['
  for await (const rows of items.rows) {
    const [row] = rows
    if (rows.length === 1 && row !== undefined) {
      yield before // a large row comes alone
      yield* featurePieces(row, source.columns, query.crs)
    } else yield before + rows.map((row) => featureText(row, source.columns, query.crs)).join(',')
    before = ','
  }
  const numberMatched = await items.numberMatched()
  const tail = {
    links: items.links(),
    timeStamp: items.timeStamp(),
    ...(numberMatched === undefined ? {} : { numberMatched }),
    numberReturned: items.end.count,
  }
  yield `${before === ',' ? '' : before}],${JSON.stringify(tail).slice(1)}`
}

function linksOf(
  { query: params }: OgcRequest,
  page: Page,
  source: FeatureSource,
  query: ItemsQuery,
  end: PageEnd,
): Link[] {
  const collection = `${page.baseUrl}/collections/${encodeURIComponent(collectionId(source))}`
  const isHtml = page.format === 'html'
  const type = isHtml ? 'text/html' : GEOJSON_TYPE
  const to = (changes: Record<string, string | null>) => `${collection}/items${searchOf(params, changes)}`
  const paged = (changes: Record<string, string | null>) => to({ after: null, before: null, ...changes })
  const links: Link[] = [
    { href: to({}), rel: 'self', type, title: 'This page' },
    {
      href: to({ f: isHtml ? 'json' : 'html' }),
      rel: 'alternate',
      type: isHtml ? GEOJSON_TYPE : 'text/html',
      title: isHtml ? 'This page as GeoJSON' : 'This page as HTML',
    },
    { href: collection, rel: 'collection', type: 'application/json', title: source.name },
  ]
  const isFromEnd = query.beforeId !== undefined
  const hasNext = isFromEnd ? end.count > 0 : end.hasMore
  const hasPrevious = isFromEnd ? end.hasMore : query.afterId !== undefined && end.count > 0
  if (hasNext)
    links.push({ href: paged({ after: String(end.lastId) }), rel: 'next', type, title: 'Next page' })
  if (hasPrevious)
    links.push({ href: paged({ before: String(end.firstId) }), rel: 'prev', type, title: 'Previous page' })
  return links
}

/** Returns the parameters with changes; null removes one. */
function searchOf(params: URLSearchParams, changes: Record<string, string | null>): string {
  const changed = new URLSearchParams(params)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) changed.delete(name)
    else changed.set(name, value)
  }
  const text = changed.toString()
  return text === '' ? '' : `?${text}`
}
