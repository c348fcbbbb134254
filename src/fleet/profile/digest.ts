import { createHash } from 'node:crypto'

/** Returns the SHA-256 of the canonical text of a JSON value, hex: the order of members does not matter. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value), 'utf8').digest('hex')
}

/** Returns JSON text with the members of each object in the order of their UTF-16 code units. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`)
  return `{${members.join(',')}}`
}
