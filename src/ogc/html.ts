import { createHash } from 'node:crypto'
import type { Link } from './types.js'

/** HTML text. Only `html` makes it, so that it holds nothing unescaped. */
export interface Html {
  readonly html: string
}

/** Template tag that escapes its values, except `Html`; arrays are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return {
    html: parts.reduce((text, part, at) => text + part + (at < values.length ? escaped(values[at]) : ''), ''),
  }
}

function escaped(value: unknown): string {
  if (Array.isArray(value)) return value.map(escaped).join('')
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

/** Content security policy: one inline style sheet, no scripts, images or other hosts. */
export const HTML_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns the text before the content of a page. @param trail titles and addresses of the pages above */
export function pageHead(title: string, trail: readonly { title: string; href: string }[]): string {
  const nav = trail.map((step) => html`<a href="${step.href}">${step.title}</a>`)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} · Fieldgate</title><style>${{ html: STYLE }}</style></head>
<body><nav>${nav}</nav><h1>${title}</h1>
`.html
}

export const PAGE_TAIL = '\n</body></html>\n'

/** Returns a complete page. */
export function pageOf(
  title: string,
  trail: readonly { title: string; href: string }[],
  content: Html,
): string {
  return `${pageHead(title, trail)}${content.html}${PAGE_TAIL}`
}

/** Returns links as a list. */
export function linkList(links: readonly Link[]): Html {
  return html`<ul>${links.map(
    ({ href, rel, title }) => html`<li><a href="${href}" rel="${rel}">${title ?? rel}</a></li>`,
  )}</ul>`
}
