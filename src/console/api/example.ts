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

/** A value of a schema to begin with: what is required, in its simplest form. */
export function exampleOf(schema: Schema, depth = 0): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum?.[0] !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return exampleOf(choice, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'array') return arrayOf(schema, depth)
  if (type === 'object' || schema.properties !== undefined) return objectOf(schema, depth)
  if (type === 'number' || type === 'integer') return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
  if (type === 'boolean') return false
  if (type === 'string') return textOf(schema)
  return null
}

function arrayOf({ items, minItems = 0, description = '' }: Schema, depth: number): unknown[] {
  if (/longitude, latitude/.test(description)) return [139.7, 35.68]
  if (items === undefined || depth > DEEPEST) return []
  return Array.from({ length: minItems }, () => exampleOf(items, depth + 1))
}

function objectOf({ properties = {}, required = [] }: Schema, depth: number): object {
  if (depth > DEEPEST) return {}
  const wanted = required.flatMap((name) => {
    const inner = properties[name]
    return inner === undefined ? [] : [[name, exampleOf(inner, depth + 1)] as const]
  })
  return Object.fromEntries(wanted)
}

function textOf({ format, description = '' }: Schema): string {
  if (/YYYY-MM-DD/.test(description)) return '2026-01-01 00:00:00+09'
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
