import { AppError } from '../errors.js'
import type { FeatureSource } from '../storage/features.js'
import { apiDocument } from './api-document.js'
import { findCollection, listCollections } from './collection.js'
import { type Counter, createCounter } from './count.js'
import {
  collectionDocument,
  collectionsPage,
  conformancePage,
  landingPage,
  queryablesDocument,
  schemaDocument,
} from './documents.js'
import { HTML_POLICY, type Html, html, linkList, pageOf } from './html.js'
import { answerItem, answerItems } from './items.js'
import { requireKnown } from './items-query.js'
import { chooseFormat } from './negotiate.js'
import {
  GEOJSON_TYPE,
  HTML_TYPE,
  JSON_TYPE,
  type Link,
  type OgcAnswer,
  type OgcOptions,
  type OgcRequest,
  OPENAPI_TYPE,
  type Page,
  SCHEMA_TYPE,
} from './types.js'
import { createWideColumns, type WideColumns } from './wide-columns.js'

interface OgcService {
  /** @throws AppError NOT_FOUND, INVALID_PARAMS, NOT_ACCEPTABLE, BAD_CONDITION */
  answer(request: OgcRequest): Promise<OgcAnswer>
}

/** Error to print. */
interface OgcFault {
  /** symbolic name */
  readonly code: string
  readonly description: string
  readonly requestId: string
}

/** Creates the service behind `GET /ogc/…`: OGC API – Features over tables, datasets and citations. */
export function createOgcService(options: OgcOptions, kept: Kept = createKept()): OgcService {
  return {
    async answer(request) {
      const made = await route(request, options, kept)
      return { ...made, headers: { ...made.headers, ...(made.type === HTML_TYPE ? HTML_HEADERS : {}) } }
    },
  }
}

/** Creates caches with nothing in them, which several services may share. */
export function createKept(): Kept {
  return { counter: createCounter(), wide: createWideColumns() }
}

const HTML_HEADERS = { 'Content-Security-Policy': HTML_POLICY, 'Referrer-Policy': 'no-referrer' }

/** Caches of a service. */
interface Kept {
  readonly counter: Counter
  readonly wide: WideColumns
}

async function route(request: OgcRequest, options: OgcOptions, kept: Kept): Promise<OgcAnswer> {
  const [first, id, part, featureId, ...more] = request.segments
  if (more.length > 0) throw unknownPath(request)
  if (first === 'collections' && id !== undefined)
    return await answerCollection(request, options, kept, { id, part, featureId })
  if (id !== undefined) throw unknownPath(request)
  switch (first) {
    case undefined:
      return answerDocument(request, JSON_TYPE, landingPage, 'Fieldgate', landingHtml)
    case 'conformance':
      return answerDocument(
        request,
        JSON_TYPE,
        conformancePage,
        'Conformance',
        ({ conformsTo }) => html`<ul>${conformsTo.map((uri) => html`<li>${uri}</li>`)}</ul>`,
      )
    case 'api':
      return answerDocument(
        request,
        OPENAPI_TYPE,
        await apiOf(request, options),
        'API',
        () =>
          html`<p>The <a href="${request.baseUrl}/api?f=json">OpenAPI document</a> names every path and parameter.</p>`,
      )
    case 'collections': {
      const sources = await listCollections(options.sources, request.may)
      return answerDocument(
        request,
        JSON_TYPE,
        (page) => collectionsPage(page, sources),
        'Collections',
        ({ collections }) =>
          html`<table><tbody>${collections.map(
            ({ id, title, description }) =>
              html`<tr><th scope="row"><a href="${request.baseUrl}/collections/${encodeURIComponent(id)}?f=html">${title}</a></th><td>${description}</td></tr>`,
          )}</tbody></table>`,
      )
    }
    default:
      throw unknownPath(request)
  }
}

async function answerCollection(
  request: OgcRequest,
  options: OgcOptions,
  kept: Kept,
  { id, part, featureId }: { id: string; part: string | undefined; featureId: string | undefined },
): Promise<OgcAnswer> {
  const source = await findCollection(options.sources, id, request.may)
  if (part === 'items') {
    const page = pageFor(request, [GEOJSON_TYPE, JSON_TYPE])
    if (featureId !== undefined) return await answerItem(request, page, source, featureId)
    return answerItems(request, page, source, options, kept.counter)
  }
  if (featureId !== undefined) throw unknownPath(request)
  switch (part) {
    case undefined:
      return answerDocument(
        request,
        JSON_TYPE,
        (page) => collectionDocument(page, source),
        source.name,
        ({ description, links }) =>
          html`<p>${description}</p>${columnTable(source)}${linkList(shown(links))}`,
      )
    case 'schema': {
      const wide = await kept.wide.find(source, request.signal)
      const make = (page: Page) => schemaDocument(page, source, wide)
      return answerDocument(request, SCHEMA_TYPE, make, `${source.name}: schema`, () => columnTable(source))
    }
    case 'queryables': {
      const make = (page: Page) => queryablesDocument(page, source)
      return answerDocument(request, SCHEMA_TYPE, make, `${source.name}: queryables`, () =>
        columnTable(source),
      )
    }
    default:
      throw unknownPath(request)
  }
}

/** Returns a document in the format that the request asks for. */
async function answerDocument<D extends object>(
  request: OgcRequest,
  jsonType: string,
  make: (page: Page) => D | Promise<D>,
  title: string,
  toHtml: (document: D) => Html,
): Promise<OgcAnswer> {
  requireKnown(request.query, ['f'])
  const page = pageFor(request, [...new Set([jsonType, JSON_TYPE])])
  const document = await make(page)
  if (page.format === 'json') return { type: jsonType, body: JSON.stringify(document), headers: {} }
  return { type: HTML_TYPE, body: pageOf(title, trailTo(request), toHtml(document)), headers: {} }
}

function pageFor({ query, accept, baseUrl }: OgcRequest, jsonTypes: readonly string[]): Page {
  return { baseUrl, format: chooseFormat(query.get('f'), accept, jsonTypes) }
}

async function apiOf(request: OgcRequest, options: OgcOptions): Promise<(page: Page) => object> {
  const sources = await listCollections(options.sources, request.may)
  return ({ baseUrl, format }) => (format === 'html' ? {} : apiDocument(baseUrl, sources, options))
}

function landingHtml({ description, links }: { description: string; links: readonly Link[] }): Html {
  return html`<p>${description}</p>${linkList(shown(links))}`
}

/** Returns the links to show on a page: without the page itself, other documents as HTML. */
function shown(links: readonly Link[]): Link[] {
  return links
    .filter(
      ({ rel }, at) => rel !== 'self' && links.findIndex((other) => other.title === links[at]?.title) === at,
    )
    .map((link) =>
      link.rel === 'alternate' || link.href.includes('?') ? link : { ...link, href: `${link.href}?f=html` },
    )
}

function columnTable({ columns }: FeatureSource): Html {
  return html`<table><thead><tr><th>property</th><th>type</th><th>can be compared</th></tr></thead><tbody>${columns.map(
    ({ name, udtName, isQueryable }) =>
      html`<tr><th scope="row">${name}</th><td>${udtName}</td><td>${isQueryable ? 'yes' : 'no'}</td></tr>`,
  )}</tbody></table>`
}

function trailTo({
  baseUrl,
  segments,
}: Pick<OgcRequest, 'baseUrl' | 'segments'>): { title: string; href: string }[] {
  if (segments.length === 0) return []
  const trail = [{ title: 'Fieldgate', href: `${baseUrl}?f=html` }]
  return segments.length === 1
    ? trail
    : [...trail, { title: 'Collections', href: `${baseUrl}/collections?f=html` }]
}

function unknownPath({ segments }: OgcRequest): AppError {
  const message = `No resource at /ogc/${segments.join('/').slice(0, 200)}`
  return new AppError('NOT_FOUND', {}, { message })
}

/** Returns an error in the format that the request asks for. */
export function refuseOgc(
  { query, accept, baseUrl }: Pick<OgcRequest, 'query' | 'accept' | 'baseUrl'>,
  fault: OgcFault,
): OgcAnswer & { body: string } {
  const isHtml =
    query.get('f') === 'html' || (query.get('f') === null && (accept ?? '').includes('text/html'))
  if (!isHtml) return { type: JSON_TYPE, body: JSON.stringify(fault), headers: {} }
  const content = html`<p>${fault.description}</p><p><code>${fault.code}</code> · ${fault.requestId}</p>`
  return {
    type: HTML_TYPE,
    body: pageOf('Error', trailTo({ baseUrl, segments: ['error'] }), content),
    headers: HTML_HEADERS,
  }
}
