// docs/methods.md: every method with its scope, params, result and errors, from the OpenRPC document.
import { paramsSchema, sharedTypes, typeOf } from '../client-types.mjs'
import { fieldsOf, typeText } from './fields.mjs'
import { anchorOf, code, NOTICE, sentence, table, wrap } from './markdown.mjs'

/** Errors that every method may answer; the page names them once. */
const COMMON_ERRORS = ['INVALID_PARAMS', 'FORBIDDEN', 'INTERNAL']
/** Paths of the OpenAPI document that are methods. */
const METHOD_PATH = /\/jsonrpc(\/call\/|$)/
const HTTP_VERBS = ['get', 'head', 'post', 'patch', 'delete', 'options']

export function methodsPage({ apis, openRpc, openApi, errors }) {
  const shared = sharedTypes(openRpc.methods)
  const nameOf = sharedNames(shared)
  const errorLink = linkToError(errors)
  const rooms = apis.map(({ title, path }) => ({
    title,
    path,
    methods: openRpc.methods.filter((method) => method['x-path'] === path),
  }))
  return [
    `# Methods\n\n${NOTICE}\n`,
    intro(errorLink),
    ...rooms.map(indexOfRoom),
    `## Other paths\n\n${table(['Request', 'Description'], otherPaths(openApi))}`,
    ...rooms.flatMap(({ title, path, methods }) => [
      `## ${title}\n\nPath \`${path}\`.\n`,
      ...methods.map((method) => methodSection(method, nameOf, errorLink)),
    ]),
    '## Shared types\n\nTypes that several methods take or return.\n',
    ...shared.map((type) => sharedSection(type, nameOf)),
  ].join('\n')
}

function intro(errorLink) {
  return [
    wrap(`Each method is called by JSON-RPC 2.0 at the path of its API, or by \`POST <path>/call/<method>\` with the
params alone as the body. A gateway describes itself: \`rpc.discover\` on each path, \`GET /openrpc.json\` and
\`GET /openapi.json\`. The paths below have the default \`svc\` for \`service.apiName\`.`),
    wrap(`A key or session needs the scope of the method. Every method may answer
${COMMON_ERRORS.map(errorLink).join(', ')}; further errors are listed at each.
[Conditions, order and paging](tables.md#conditions) are the same everywhere. *map of T* is an object whose members
have any names and values of type T.`),
  ].join('\n')
}

function indexOfRoom({ title, path, methods }) {
  const rows = methods.map(({ name, summary, 'x-scope': scope }) => [
    `[\`${name}\`](#${anchorOf(name)})`,
    code(scope),
    summary,
  ])
  return `**${title}** (\`POST ${path}\`)\n\n${table(['Method', 'Scope', 'Description'], rows)}`
}

function methodSection(method, nameOf, errorLink) {
  const own = method.errors.map(({ data }) => data.name).filter((name) => !COMMON_ERRORS.includes(name))
  const params = fieldsOf(paramsSchema(method), nameOf)
  const rows = params.map(({ path, type, isRequired, about }) => [
    code(path),
    isRequired ? type : `${type}; optional`,
    about,
  ])
  return [
    `### ${method.name}\n`,
    wrap(`${sentence(method.summary)} Scope ${code(method['x-scope'])}.`),
    rows.length === 0 ? 'No params.\n' : table(['Param', 'Type', 'Description'], rows),
    resultText(method.result.schema, nameOf),
    ...(own.length === 0 ? [] : [wrap(`Errors: ${own.map(errorLink).join(', ')}.`)]),
  ].join('\n')
}

function resultText(schema, nameOf) {
  const text = `Result: ${typeText(schema, nameOf)}.\n`
  const fields = nameOf(schema) === undefined ? fieldsOf(rowsSchema(schema), nameOf) : []
  return fields.length === 0 ? text : `${text}\n${fieldTable('Member of the result', fields)}`
}

/**
 * Members of the result, of its elements where it is an array, of all alternatives where there are several.
 */
function rowsSchema(schema) {
  if (schema?.type === 'array') return rowsSchema(schema.items)
  const choices = schema?.anyOf ?? schema?.oneOf
  if (choices === undefined) return schema ?? {}
  return { properties: Object.assign({}, ...choices.map(({ properties }) => properties)) }
}

function sharedSection({ name, about, schema }, nameOf) {
  if (schema.enum !== undefined)
    return `### ${name}\n\n${about}\n\n${wrap(`One of ${schema.enum.map(code).join(', ')}.`)}`
  const fields = fieldsOf(rowsSchema(schema), (one) => (one === schema ? undefined : nameOf(one)))
  return `### ${name}\n\n${about}\n\n${fieldTable('Member', fields)}`
}

function fieldTable(title, fields) {
  return table(
    [title, 'Type', 'Description'],
    fields.map(({ path, type, about }) => [code(path), type, about]),
  )
}

/**
 * @returns (schema) => link to the shared type that it is, or undefined; `typeOf` answers the name of a
 * shared type
 */
function sharedNames(shared) {
  const names = new Set(shared.map(({ name }) => name))
  return (schema) => {
    if (schema === undefined) return undefined
    const name = typeOf(schema)
    return names.has(name) ? linkTo(name) : undefined
  }
}

function linkTo(name) {
  return `[${name}](#${anchorOf(name)})`
}

/** Errors with advice have a heading of their own. */
function linkToError(errors) {
  const advised = new Set(errors.filter(({ advice }) => advice !== '').map(({ name }) => name))
  return (name) => `[\`${name}\`](errors.md${advised.has(name) ? `#${anchorOf(name)}` : ''})`
}

function otherPaths({ paths }) {
  return Object.entries(paths)
    .filter(([path]) => !METHOD_PATH.test(path))
    .flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([verb]) => HTTP_VERBS.includes(verb))
        .map(([verb, { summary }]) => [code(`${verb.toUpperCase()} ${path}`), summary]),
    )
}
