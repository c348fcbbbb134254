/** Steps from a value to one inside it: names of members, positions in arrays. */
export type Path = readonly (string | number)[]

const STEP = /\["([^"]+)"\]|\[(\d+)\]|\.?([^.[\]]+)/gy

/** Reads a path such as `object.rain[0]["mm/h"]`. The settings have checked its form. */
export function parsePath(text: string): Path {
  return [...text.matchAll(STEP)].map(([, quoted, index, name]) =>
    index === undefined ? (quoted ?? name ?? '') : Number(index),
  )
}

/** Returns the value at a path; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  let at = value
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined
    at = (at as Record<string | number, unknown>)[step] // an object, which has the member
  }
  return at
}

/** Deepest object whose members are flattened, and most members. */
const MAX_DEPTH = 6
const MAX_MEMBERS = 1000

/**
 * Returns the members of an object in one level: those of an inner object have its name and `_` before theirs.
 * Arrays stay as they are.
 */
export function flatten(value: unknown): Map<string, unknown> {
  const flat = new Map<string, unknown>()
  const walk = (inner: object, prefix: string, depth: number) => {
    for (const [name, member] of Object.entries(inner)) {
      if (flat.size >= MAX_MEMBERS) return
      const isObject = typeof member === 'object' && member !== null && !Array.isArray(member)
      if (isObject && depth < MAX_DEPTH && !('rawJSON' in member))
        walk(member, `${prefix}${name}_`, depth + 1)
      else flat.set(`${prefix}${name}`, member)
    }
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) walk(value, '', 1)
  return flat
}
