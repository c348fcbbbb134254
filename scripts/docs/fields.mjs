// JSON Schemas as rows of a table: one row for each member, with its path, its type and its meaning.

/** Deepest member that gets a row of its own; deeper ones are left to rpc.discover. */
const MAX_DEPTH = 4
/** Bounds at or beyond this are those of JSON itself and say nothing. */
const NO_BOUND = Number.MAX_SAFE_INTEGER

/**
 * Rows of an object's members, depth first.
 *
 * @param nameOf (schema) => name of a shared type, or undefined; its members are described at its home
 * @returns { path, type, isRequired, about } each
 */
export function fieldsOf(schema, nameOf, prefix = '', depth = 0) {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    const row = {
      path,
      type: typeText(member, nameOf),
      isRequired: required.includes(name),
      about: member.description ?? '',
    }
    return [row, ...(depth < MAX_DEPTH ? membersBelow(member, nameOf, path, depth + 1) : [])]
  })
}

/**
 * Type in a few words: `array (up to 100) of string`.
 *
 * @param isInner true within an array or between alternatives, where lengths of strings would read as those
 *   of the whole
 */
export function typeText(schema, nameOf, isInner = false) {
  if (schema === undefined || typeof schema === 'boolean') return 'any'
  const name = nameOf(schema)
  if (name !== undefined) return name
  if ('const' in schema) return quoted(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(quoted).join(' or ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return alternatives(choices, nameOf, isInner)
  if (Array.isArray(schema.type))
    return alternatives(
      schema.type.map((type) => ({ ...schema, type })),
      nameOf,
      isInner,
    )
  switch (schema.type) {
    case 'string':
      return isInner ? 'string' : withBounds('string', schema.minLength, schema.maxLength, ' characters')
    case 'number':
    case 'integer':
      return withBounds(schema.type, schema.minimum, schema.maximum)
    case 'array':
      return arrayText(schema, nameOf)
    case 'object':
      return isMap(schema) && schema.properties === undefined
        ? `map of ${typeText(schema.additionalProperties, nameOf, true)}`
        : 'object'
    default:
      return schema.type ?? 'any'
  }
}

function quoted(value) {
  return `\`${JSON.stringify(value)}\``
}

function alternatives(choices, nameOf, isInner) {
  const isOneType = choices.filter(({ type }) => type !== 'null').length === 1
  const texts = choices.map((choice) => typeText(choice, nameOf, isInner || !isOneType))
  return [...new Set(texts)].join(' or ')
}

function membersBelow(schema, nameOf, path, depth) {
  if (schema === null || typeof schema !== 'object' || nameOf(schema) !== undefined) return []
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return choices.flatMap((choice) => membersBelow(choice, nameOf, path, depth))
  if (schema.type === 'array' && !Array.isArray(schema.items))
    return membersBelow(schema.items ?? {}, nameOf, `${path}[]`, depth)
  const named = fieldsOf(schema, nameOf, `${path}.`, depth)
  return isMap(schema)
    ? [...named, ...membersBelow(schema.additionalProperties, nameOf, `${path}.<name>`, depth)]
    : named
}

function arrayText({ items, prefixItems, minItems, maxItems }, nameOf) {
  const places = prefixItems ?? (Array.isArray(items) ? items : undefined)
  if (places !== undefined) return `[${places.map((place) => typeText(place, nameOf, true)).join(', ')}]`
  const count = minItems === maxItems ? maxItems : boundsText(minItems, maxItems)
  const length = count === undefined ? '' : ` (${count})`
  const item = typeText(items, nameOf, true)
  return item === 'any' ? `array${length}` : `array${length} of ${item}`
}

function withBounds(text, least, most, unit = '') {
  const bounds = boundsText(least, most)
  return bounds === undefined ? text : `${text}, ${bounds}${unit}`
}

/** @returns undefined where the bounds are those of JSON itself */
function boundsText(least, most) {
  const low = least !== undefined && least > -NO_BOUND ? least : undefined
  const high = most !== undefined && most < NO_BOUND ? most : undefined
  if (high === undefined) return low === undefined || low === 0 ? undefined : `at least ${low}`
  return low === undefined ? `up to ${high}` : `${low} to ${high}`
}

function isMap({ additionalProperties }) {
  return typeof additionalProperties === 'object' && Object.keys(additionalProperties ?? {}).length > 0
}
