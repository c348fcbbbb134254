import { type ExampleFacts, exampleOf, type Schema, typeOf } from '../api/example.js'
import { readExampleFacts } from '../api/example-facts.js'
import { fill, h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { badge, copyButton, field, loaded, prose, statusLine, table } from '../core/parts.js'
import { getJson, request, rpcFault } from '../core/rpc.js'

export interface OpenRpcMethod {
  name: string
  summary: string
  paramStructure: 'by-name' | 'by-position'
  params: { name: string; required: boolean; description?: string; schema: Schema }[]
  errors: { code: number; message: string; data: { name: string } }[]
  'x-path': string
  'x-scope': string
}

/** Most lines of an example that are shown without scrolling. */
const MOST_LINES = 24

/** API explorer: all methods of the OpenRPC document, each with a form that calls it. */
export function apiPage([chosen]: readonly string[]): Page {
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navApi')),
    h('p', { class: 'soft' }, t('apiIntro')),
    loaded(async () => {
      const { methods } = (await getJson('/openrpc.json')) as { methods: OpenRpcMethod[] }
      const method = methods.find(({ name }) => name === chosen)
      return method === undefined ? methodList(methods) : methodView(method, await readExampleFacts())
    }),
  )
  return { title: chosen ?? t('navApi'), element }
}

function methodList(methods: readonly OpenRpcMethod[]): HTMLElement[] {
  const filter = h('input', { type: 'search', name: 'filter' })
  const box = h('div')
  const show = () => {
    const wanted = filter.value.toLowerCase()
    const found = methods.filter(({ name, summary, 'x-scope': scope }) =>
      `${name} ${summary} ${scope}`.toLowerCase().includes(wanted),
    )
    fill(
      box,
      table(
        t('methods'),
        [t('method'), t('scope'), t('description')],
        found.map(({ name, summary, 'x-scope': scope }) => [
          h('a', { href: `#/api/${encodeURIComponent(name)}` }, name),
          badge(scope),
          prose(summary),
        ]),
      ),
    )
  }
  filter.addEventListener('input', show)
  show()
  return [field(t('filter'), filter), box]
}

function methodView(method: OpenRpcMethod, known: ExampleFacts): HTMLElement[] {
  const { name, summary, params, errors, 'x-path': path, 'x-scope': scope } = method
  return [
    h('p', {}, h('a', { href: '#/api' }, `← ${t('methods')}`)),
    h('h2', {}, name),
    h('p', {}, summary),
    h('p', {}, h('code', {}, `POST ${path}`), ' ', badge(scope)),
    h('h3', {}, t('parameters')),
    table(
      t('parameters'),
      [t('parameter'), t('type'), t('need'), t('description')],
      parameterRows(params),
      t('none'),
    ),
    h('h3', {}, t('tryIt')),
    tryForm(method, known),
    h('h3', {}, t('errors')),
    table(
      t('errors'),
      [t('code'), t('errorName'), t('meaning')],
      errors.map(({ code, message, data }) => [
        String(code),
        h('a', { href: `#/help/${data.name}` }, data.name),
        prose(message),
      ]),
    ),
  ]
}

/** Parameters of a method. The properties of a single positional object are listed one by one. */
function parameterRows(params: OpenRpcMethod['params']): (string | HTMLElement)[][] {
  const [only] = params
  const inner = params.length === 1 && only?.name === 'params' ? only.schema : undefined
  const rows =
    inner?.properties === undefined
      ? params
      : Object.entries(inner.properties).map(([name, schema]) => ({
          name,
          schema,
          required: inner.required?.includes(name) === true,
          description: schema.description,
        }))
  return rows.map(({ name, required, description, schema }) => [
    h('code', {}, name),
    typeOf(schema),
    required ? badge(t('required'), 'accent') : badge(t('optional')),
    prose(description ?? schema.description ?? ''),
  ])
}

/** JSON in lines, with arrays of numbers in one line each. */
function readableJson(value: unknown): string {
  // a line break cannot be inside a string of JSON: only arrays are joined
  return JSON.stringify(value, null, 2).replace(/\[\n[\s\d.,eE+-]*\]/g, (numbers) =>
    numbers.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  )
}

function tryForm(
  { name, params, paramStructure, 'x-path': path }: OpenRpcMethod,
  known: ExampleFacts,
): HTMLElement {
  const example = readableJson(exampleParams(params, paramStructure, known))
  const input = h('textarea', {
    name: 'params',
    spellcheck: 'false',
    rows: Math.min(MOST_LINES, example.split('\n').length + 1),
    value: example,
  })
  const answer = h('pre', { 'aria-live': 'polite', tabindex: 0, hidden: true })
  const curl = h('pre', { tabindex: 0 })
  const status = statusLine()
  const body = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params })
  const showCurl = () => {
    curl.textContent = curlLine(path, input.value.trim() === '' ? '' : compact(input.value, body))
  }
  input.addEventListener('input', showCurl)
  showCurl()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    let params: unknown
    try {
      params = JSON.parse(input.value)
    } catch (error) {
      return status.bad(t('badJson', { reason: error instanceof Error ? error.message : '' }))
    }
    try {
      const { line, text, fault } = await post(path, body(params))
      if (fault === undefined) status.good(line)
      else status.bad(`${line} · ${fault}`)
      answer.hidden = false
      answer.textContent = pretty(text)
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    field(t('paramsJson'), input),
    h('div', {}, h('button', { class: 'button main' }, t('send'))),
    status.element,
    answer,
    curlDetails(curl),
  )
}

/** Sends a request. @returns its answer, a line with its status and duration, and what was refused */
async function post(
  path: string,
  body: string,
): Promise<{ line: string; text: string; fault: string | undefined }> {
  const startedAt = performance.now()
  const headers = { 'Content-Type': 'application/json' }
  const response = await request(path, { method: 'POST', headers, body })
  const text = await response.text()
  const n = Math.round(performance.now() - startedAt)
  return { line: `HTTP ${response.status} · ${t('tookMs', { n })}`, text, fault: faultOf(response, text) }
}

/** Text of the error in an answer; undefined when it has none. */
function faultOf({ ok: isOk, status }: Response, text: string): string | undefined {
  if (isOk && text.length > MOST_CHARS) return undefined
  try {
    const { error }: { error?: Parameters<typeof rpcFault>[1] } = JSON.parse(text)
    return error === undefined ? undefined : faultText(rpcFault(status, error))
  } catch {
    return isOk ? undefined : t('failed')
  }
}

function curlLine(path: string, body: string): string {
  const headers = `-H "APIKey: $K" -H "Secret: $S" -H 'Content-Type: application/json'`
  return `curl -s ${location.origin}${path} ${headers} -d '${body}'`
}

/** The curl line of a request, folded away, with a button that copies it. */
function curlDetails(curl: HTMLElement): HTMLElement {
  const copy = copyButton(() => curl.textContent ?? '')
  return h(
    'details',
    {},
    h('summary', {}, t('curlLine')),
    h('div', { class: 'stack tight' }, curl, h('div', {}, copy)),
  )
}

/** Returns params to begin with: an example of each that is required. */
function exampleParams(
  params: OpenRpcMethod['params'],
  paramStructure: OpenRpcMethod['paramStructure'],
  known: ExampleFacts,
): unknown {
  const byName = Object.fromEntries(
    params
      .filter(({ required }) => required)
      .map((param) => [param.name, exampleOf(param.schema, known, param.name)]),
  )
  const [only] = params
  const isWhole = params.length === 1 && only?.name === 'params'
  const whole = isWhole && only !== undefined ? exampleOf(only.schema, known) : byName
  return paramStructure === 'by-position' && isWhole ? [whole] : whole
}

/** Characters of a response that are shown; the rest is cut. */
const MOST_CHARS = 200_000

function pretty(text: string): string {
  const whole = text.length > MOST_CHARS ? text : readableJson(JSON.parse(text))
  return whole.length > MOST_CHARS ? `${whole.slice(0, MOST_CHARS)}\n…` : whole
}

function compact(text: string, body: (params: unknown) => string): string {
  try {
    return body(JSON.parse(text)).replaceAll("'", "'\\''")
  } catch {
    return ''
  }
}
