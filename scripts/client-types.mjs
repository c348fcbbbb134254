// JSON Schemas of the gateway's documents as TypeScript types, for the generated client.

/**
 * Types that several methods share, smaller ones first: name, description, and a place where the schema is found:
 * a method, and steps into its result, or into its params after the step `params`.
 */
const SHARED = [
  ['UdtName', 'Type of a column.', 'loaderwebapi.register_loader', 'params', 'record_def', '*', 'udt_name'],
  ['Datetime', 'Instant: ISO 8601 with an offset.', 'fl.get_upstream_info', 'created_at'],
  ['UpstreamInfo', 'Upstream of a model store.', 'fl.get_upstream_info'],
  ['Transfer', 'Transfer of a model.', 'fl.get_transfer'],
  ['DatasetInfo', 'A dataset.', 'dataset.create'],
  ['CitationInfo', 'A cited state of a dataset.', 'dataset.citation.create'],
  ['LoaderColumn', 'A column of a loader table.', 'loaderwebapi.drop_loader', 'record_def', '*'],
  ['LoaderInfo', 'A loader table.', 'loaderwebapi.drop_loader'],
  ['ModelStoreInfo', 'A model store.', 'model_store.create'],
  ['ModelInfo', 'A model, as in the response of an upload.', 'model_store.model.delete'],
  ['Snap', 'A point of the request as it was moved to a road.', 'routing.dijkstra', 'start_snap'],
  [
    'Vehicle',
    'Vehicle of a route: roads with a lower limit are closed to it.',
    'routing.nearest',
    'params',
    'vehicle',
  ],
  ['ClosedArea', 'Area that a route avoids.', 'routing.dijkstra', 'params', 'avoid_polygons', '[]'],
  ['Counters', 'Counters of added records.', 'loaderwebapi.add_record'],
  ['FeedUpstream', 'Gateway to which feeds of tables go.', 'sync.delete_upstream'],
  ['SentDefinition', 'Definition of a table between nodes.', 'sync.offer_table', 'params', 'definition'],
  ['FleetToken', 'Token with which gateways join.', 'fleet.revoke_token'],
  ['FleetGateway', 'A gateway of the fleet.', 'fleet.revoke'],
  ['FeedInfo', 'A feed of a table, and its progress.', 'sync.update_feed'],
]

/** Text of a type → its name in `SHARED`. */
const names = new Map()

/** @returns { name, about, text, schema } of each shared type; from now on `typeOf` uses the names */
export function sharedTypes(methods) {
  names.clear()
  return SHARED.map(([name, about, method, ...steps]) => {
    const found = methods.find((one) => one.name === method)
    let schema = steps[0] === 'params' && found !== undefined ? paramsSchema(found) : found?.result.schema
    for (const step of steps[0] === 'params' ? steps.slice(1) : steps) schema = inside(schema, step)
    if (schema?.type !== 'object' && schema?.enum === undefined)
      throw new Error(`${name}: ${method} has neither an object nor words at ${steps.join('.')}`)
    const text = typeOf(schema)
    names.set(text, name)
    return { name, about, text, schema }
  })
}

/** Schema of a member, of the values of a map (`*`), or of the items of an array (`[]`). */
function inside(schema, step) {
  if (step === '*') return schema?.additionalProperties
  return step === '[]' ? schema?.items : schema?.properties?.[step]
}

/** Schema of the params. Positional params are one object, which the gateway accepts without the array, too. */
export function paramsSchema({ paramStructure, params }) {
  if (paramStructure === 'by-position' || (params.length === 1 && params[0].name === 'params'))
    return params[0].schema
  return {
    type: 'object',
    properties: Object.fromEntries(
      params.map(({ name, schema, description }) => [name, { description, ...schema }]),
    ),
    required: params.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  }
}

/** Converts a JSON Schema to a TypeScript type. Ranges and formats have no type: the gateway checks them. */
export function typeOf(schema) {
  if (schema === undefined || typeof schema === 'boolean' || '$ref' in schema) return 'unknown'
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) {
    const text = schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    return names.get(text) ?? text
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return arrayType(schema)
    case 'object':
      return objectType(schema)
    default:
      return 'unknown'
  }
}

function arrayType({ items, prefixItems }) {
  const places = prefixItems ?? (Array.isArray(items) ? items : undefined)
  return places === undefined ? `(${typeOf(items)})[]` : `[${places.map(typeOf).join(', ')}]`
}

function objectType({ properties = {}, required = [], additionalProperties }) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const about =
      schema.description === undefined ? '' : `/** ${schema.description.replaceAll('*/', '* /')} */\n`
    return `${about}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
  })
  const isMap = typeof additionalProperties === 'object' && additionalProperties !== null
  // the index signature must also accept the named properties
  if (isMap)
    members.push(`[name: string]: ${members.length === 0 ? typeOf(additionalProperties) : 'unknown'}`)
  else if (additionalProperties !== false && members.length === 0) return 'Record<string, unknown>'
  if (members.length === 0) return 'Record<string, never>'
  const text = `{\n${members.join('\n')}\n}`
  return names.get(text) ?? text
}
