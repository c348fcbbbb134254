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
  ['FleetProfile', 'Profile of gateways.', 'fleet.set_profile', 'params', 'profile'],
  ['ProfileInfo', 'Version of a profile.', 'fleet.get_profile'],
  ['ProfileChange', 'Difference of two versions of a profile.', 'fleet.diff_profile', 'changes', '[]'],
  ['ProfileItem', 'Progress of an item of a profile.', 'fleet.report', 'params', 'profile', 'items', '[]'],
  ['GatewayTrouble', 'Worst trouble of a gateway.', 'fleet.list_positions', '[]', 'trouble'],
  ['FleetGateway', 'A gateway of the fleet.', 'fleet.revoke'],
  ['Membership', 'Membership of this gateway in a fleet.', 'fleet.get_membership', '|'],
  ['ModuleInput', 'Rows or models for a module.', 'dataproc.exec', 'params', 'input', '*'],
  ['ModuleOutput', 'Destination of an output of a module.', 'dataproc.exec', 'params', 'output', '*'],
  ['TriggerStart', 'Start of a trigger.', 'dataproc.create_trigger', 'params', 'on'],
  ['TriggerRun', 'Run of a trigger.', 'dataproc.create_trigger', 'last_run', '|'],
  ['TriggerInfo', 'A trigger, and its last run.', 'dataproc.create_trigger'],
  ['FeedInfo', 'A feed of a table, and its progress.', 'sync.update_feed'],
]

/** Text of a type → its name in `SHARED`. */
const names = new Map()
/** Name of an object in `SHARED` → texts of its members. */
const membersOf = new Map()
/** Members of an object that is written as a shared type and some more members. */
const MIN_MEMBERS = 4

/** @returns { name, about, text, schema, method } of each shared type; from now on `typeOf` uses the names */
export function sharedTypes(methods) {
  names.clear()
  membersOf.clear()
  return SHARED.map(([name, about, method, ...steps]) => {
    const found = methods.find((one) => one.name === method)
    let schema = steps[0] === 'params' && found !== undefined ? paramsSchema(found) : found?.result.schema
    for (const step of steps[0] === 'params' ? steps.slice(1) : steps) schema = inside(schema, step)
    if (schema?.type !== 'object' && schema?.enum === undefined && schema?.anyOf === undefined)
      throw new Error(`${name}: ${method} has neither an object nor words at ${steps.join('.')}`)
    const text = typeOf(schema)
    names.set(text, name)
    if (schema.type === 'object' && !isMap(schema)) membersOf.set(name, memberTexts(schema))
    return { name, about, text, schema, method: found }
  })
}

/** Schema of a member, of the values of a map (`*`), of the items of an array (`[]`), or of what may be null (`|`). */
function inside(schema, step) {
  if (step === '*') return schema?.additionalProperties
  if (step === '|') return schema?.anyOf?.find(({ type }) => type !== 'null')
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
  if (choices !== undefined) {
    const text = [...new Set(choices.map(typeOf))].join(' | ')
    return names.get(text) ?? text
  }
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

function objectType(schema) {
  const { additionalProperties } = schema
  const members = memberTexts(schema)
  // the index signature must also accept the named properties
  if (isMap(schema))
    members.push(`[name: string]: ${members.length === 0 ? typeOf(additionalProperties) : 'unknown'}`)
  else if (additionalProperties !== false && members.length === 0) return 'Record<string, unknown>'
  if (members.length === 0) return 'Record<string, never>'
  const text = inBraces(members)
  return names.get(text) ?? extended(members) ?? text
}

function isMap({ additionalProperties }) {
  return typeof additionalProperties === 'object' && additionalProperties !== null
}

function memberTexts({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => {
    const about =
      schema.description === undefined ? '' : `/** ${schema.description.replaceAll('*/', '* /')} */\n`
    return `${about}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
  })
}

function inBraces(members) {
  return `{\n${members.join('\n')}\n}`
}

/** Type of an object that has all members of a shared one, and more; undefined for none. */
function extended(members) {
  const [largest] = [...membersOf]
    .filter(([, of]) => of.length >= MIN_MEMBERS && of.every((text) => members.includes(text)))
    .sort(([, a], [, b]) => b.length - a.length)
  if (largest === undefined) return undefined
  const [name, known] = largest
  return `${name} & ${inBraces(members.filter((text) => !known.includes(text)))}`
}
