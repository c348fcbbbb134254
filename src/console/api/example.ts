/** The parts of JSON Schema that the gateway's own documents use. */
export interface Schema {
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  default?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  minItems?: number
  minimum?: number
  exclusiveMinimum?: number
  format?: string
}

const DEEPEST = 6

/** Names of things on the gateway, for examples that work as they are. */
export interface ExampleFacts {
  /** points on a served map: lng, lat */
  readonly points: readonly (readonly [number, number])[]
  /** a value of params with these names */
  readonly names: Readonly<Record<string, string>>
}

/** A value of a schema to begin with: what is required, in its simplest form. @param name of the param */
export function exampleOf(schema: Schema, facts: ExampleFacts, name = '', depth = 0): unknown {
  const known = facts.names[name]
  if (known !== undefined && schema.enum === undefined) return known
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum?.[0] !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return exampleOf(choice, facts, name, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'array') return arrayOf(schema, facts, name, depth)
  if (type === 'object' || schema.properties !== undefined) return objectOf(schema, facts, depth)
  if (type === 'number' || type === 'integer') return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
  if (type === 'boolean') return false
  if (type === 'string') return textOf(schema, name)
  return null
}

function arrayOf(
  { items, minItems = 0, description = '' }: Schema,
  facts: ExampleFacts,
  name: string,
  depth: number,
): unknown[] {
  if (/longitude, latitude/.test(description))
    return [...(facts.points[/goal|destination|end/.test(name) ? 1 : 0] ?? [139.7, 35.68])]
  if (items === undefined || depth > DEEPEST) return []
  return Array.from({ length: minItems }, () => exampleOf(items, facts, name, depth + 1))
}

function objectOf({ properties = {}, required = [] }: Schema, facts: ExampleFacts, depth: number): object {
  if (depth > DEEPEST) return {}
  const wanted = required.flatMap((name) => {
    const inner = properties[name]
    return inner === undefined ? [] : [[name, exampleOf(inner, facts, name, depth + 1)] as const]
  })
  return Object.fromEntries(wanted)
}

function textOf({ format, description = '' }: Schema, name: string): string {
  if (/YYYY-MM-DD/.test(description) || name.endsWith('_datetime')) return '2026-01-01 00:00:00+09'
  return format === 'uuid' ? '00000000-0000-4000-8000-000000000000' : ''
}

/** A schema's type in a word or two. */
export function typeOf({ type, items, anyOf, oneOf, enum: values, const: only }: Schema): string {
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  if (only !== undefined) return JSON.stringify(only)
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' | ')
  if (type === 'array') return items === undefined ? 'array' : `array of ${typeOf(items)}`
  return Array.isArray(type) ? type.join(' | ') : (type ?? 'any')
}
