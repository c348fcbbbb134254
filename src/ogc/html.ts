import { createHash } from 'node:crypto'
import type { Link } from './types.js'

/** Text of HTML; made by `html` alone, so nothing gets in that was not escaped. */
export interface Html {
  readonly html: string
}

/** A template whose values are escaped, save for what is `Html` already; arrays are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return {
    html: parts.reduce((text, part, at) => text + part + (at < values.length ? textOf(values[at]) : ''), ''),
  }
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('')
  if (typeof value === 'object' && value !== null && 'html' in value) return (value as Html).html
  return String(value ?? '').replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:1.5rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid #8888;padding:.25rem .5rem;text-align:left;vertical-align:top}
td{max-width:24rem;overflow-wrap:anywhere}nav a{margin-right:1rem}`

/** Nothing but this one style sheet may be used: no script, no image, no other host. */
export const HTML_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Text up to the content of a page. @param trail titles and addresses of the pages above it */
export function pageHead(title: string, trail: readonly { title: string; href: string }[]): string {
  const nav = trail.map((step) => html`<a href="${step.href}">${step.title}</a>`)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} · Fieldgate</title><style>${{ html: STYLE }}</style></head>
<body><nav>${nav}</nav><h1>${title}</h1>
`.html
}

export const PAGE_TAIL = '\n</body></html>\n'

/** A whole page. */
export function pageOf(
  title: string,
  trail: readonly { title: string; href: string }[],
  content: Html,
): string {
  return `${pageHead(title, trail)}${content.html}${PAGE_TAIL}`
}

/** Links as a list, those to other forms of the same page among them. */
export function linkList(links: readonly Link[]): Html {
  return html`<ul>${links.map(
    ({ href, rel, title }) => html`<li><a href="${href}" rel="${rel}">${title ?? rel}</a></li>`,
  )}</ul>`
}
