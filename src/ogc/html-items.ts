import type { FeatureSource } from '../storage/features.js'
import type { TableRow } from '../storage/tables.js'
import { collectionId } from './collection.js'
import { type Html, html, PAGE_TAIL, pageHead, pageOf } from './html.js'
import type { ItemsPage } from './items-page.js'
import type { Page } from './types.js'

/** Longest geometry text in a cell. */
const MAX_GEOMETRY_CHARS = 200

/** Yields a page of features as an HTML table while rows are read. */
export async function* itemsHtml(page: Page, items: ItemsPage): AsyncGenerator<string> {
  const { source } = items
  const collection = collectionUrl(page, source)
  const names = source.columns.map(({ name }) => name)
  let before = `${pageHead(`${source.name}: items`, trailOf(page, source))}${
    html`<table><thead><tr><th>id</th>${names.map((name) => html`<th>${name}</th>`)}<th>geometry</th></tr></thead><tbody>`
      .html
  }`
  for await (const rows of items.rows) {
    yield before + rows.map((row) => rowHtml(row, names, collection).html).join('\n')
    before = '\n'
  }
  const matched = await items.numberMatched()
  const steps = items.links().filter(({ rel }) => ['next', 'prev', 'alternate'].includes(rel))
  const counts = `${items.end.count} shown${matched === undefined ? '' : ` of ${matched}`}`
  yield `${before === '\n' ? '' : before}</tbody></table>${
    html`<p>${counts}</p><nav>${steps.map((link) => html`<a href="${link.href}" rel="${link.rel}">${link.title}</a>`)}</nav>`
      .html
  }${PAGE_TAIL}`
}

/** Returns the HTML page of one feature. */
export function featureHtml(page: Page, source: FeatureSource, row: TableRow): string {
  const rows = [
    ...source.columns.map(({ name }): [string, unknown] => [name, row.properties[name]]),
    ['geometry', row.geometry] as [string, unknown],
  ]
  const trail = [
    ...trailOf(page, source),
    { title: 'Items', href: `${collectionUrl(page, source)}/items?f=html` },
  ]
  const table = html`<table><tbody>${rows.map(
    ([name, value]) => html`<tr><th scope="row">${name}</th><td>${cellText(value)}</td></tr>`,
  )}</tbody></table>
<p><a href="${collectionUrl(page, source)}/items/${row.rowId}" rel="alternate">As GeoJSON</a></p>`
  return pageOf(`${source.name} ${row.rowId}`, trail, table)
}

function rowHtml(row: TableRow, names: readonly string[], collection: string): Html {
  const cells = names.map((name) => html`<td>${cellText(row.properties[name])}</td>`)
  const geometry = cellText(row.geometry)
  const short = geometry.length > MAX_GEOMETRY_CHARS ? `${geometry.slice(0, MAX_GEOMETRY_CHARS)}…` : geometry
  return html`<tr><th scope="row"><a href="${collection}/items/${row.rowId}?f=html">${row.rowId}</a></th>${cells}<td>${short}</td></tr>`
}

function cellText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === null || value === undefined
      ? ''
      : JSON.stringify(value)
}

function collectionUrl(page: Page, source: FeatureSource): string {
  return `${page.baseUrl}/collections/${encodeURIComponent(collectionId(source))}`
}

function trailOf(page: Page, source: FeatureSource): { title: string; href: string }[] {
  return [
    { title: 'Fieldgate', href: `${page.baseUrl}?f=html` },
    { title: 'Collections', href: `${page.baseUrl}/collections?f=html` },
    { title: source.name, href: `${collectionUrl(page, source)}?f=html` },
  ]
}
