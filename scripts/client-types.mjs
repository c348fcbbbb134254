// JSON Schemas of the gateway's documents as TypeScript types, for the generated client.

/** Types that several methods share, smaller ones first: name, what it is, and where one is found. */
const SHARED = [
  ['Datetime', 'An instant: ISO 8601 with its offset.', 'fl.get_upstream_info', 'created_at'],
  ['UpstreamInfo', 'Where the models of a store go.', 'fl.get_upstream_info'],
  ['Transfer', 'A model on its way.', 'fl.get_transfer'],
  ['DatasetInfo', 'A dataset.', 'dataset.create'],
  ['CitationInfo', 'A cited state of a dataset.', 'dataset.citation.create'],
  ['LoaderColumn', 'A column of a loader table.', 'loaderwebapi.drop_loader', 'record_def', '*'],
  ['LoaderInfo', 'A loader table.', 'loaderwebapi.drop_loader'],
  ['ModelStoreInfo', 'A model store.', 'model_store.create'],
  ['ModelInfo', 'A model as uploads answer it.', 'model_store.model.delete'],
  ['Counters', 'What became of added records.', 'loaderwebapi.add_record'],
]

/** Text of a type → its name, of those in `SHARED`. */
const names = new Map()

/** @returns { name, about, text } of each shared type; from here on `typeOf` uses the names */
export function sharedTypes(methods) {
  names.clear()
  return SHARED.map(([name, about, method, ...steps]) => {
    let schema = methods.find((one) => one.name === method)?.result.schema
    for (const step of steps)
      schema = step === '*' ? schema?.additionalProperties : schema?.properties?.[step]
    if (schema?.type !== 'object') throw new Error(`${name}: ${method} has no object at ${steps.join('.')}`)
    const text = typeOf(schema)
    names.set(text, name)
    return { name, about, text }
  })
}

/** By name, params are properties; by position there is one, whose place in an array the gateway does not insist on. */
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

/** A JSON Schema as a TypeScript type; what cannot be said in types is left to the gateway. */
export function typeOf(schema) {
  if (schema === undefined || typeof schema === 'boolean' || '$ref' in schema) return 'unknown'
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
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
  // a property of any name must not forbid the ones that are named
  if (isMap)
    members.push(`[name: string]: ${members.length === 0 ? typeOf(additionalProperties) : 'unknown'}`)
  else if (additionalProperties !== false && members.length === 0) return 'Record<string, unknown>'
  if (members.length === 0) return 'Record<string, never>'
  const text = `{\n${members.join('\n')}\n}`
  return names.get(text) ?? text
}
