import path from 'node:path'

/** Where settings were given. */
export interface Places {
  /** dotted paths of flags of the command line */
  readonly flags: readonly string[]
  /** dotted path → environment variable */
  readonly variables: ReadonlyMap<string, string>
  /** settings file; null for none */
  readonly file: string | null
  /** dotted path → line of the file */
  readonly lines: ReadonlyMap<string, number>
}

/**
 * Place at which a setting, or the nearest setting around it, was given: `edge.config.json, line 3`. Undefined for a
 * setting that was given nowhere.
 *
 * @param at dotted path
 */
export function placeOf(at: string, { flags, variables, file, lines }: Places): string | undefined {
  const around = [at]
  for (let end = at.lastIndexOf('.'); end > 0; end = at.lastIndexOf('.', end - 1))
    around.push(at.slice(0, end))
  // a flag replaces what a variable gives, and a variable what the file has, with all that is inside
  if (around.some((place) => flags.includes(place))) return 'a flag'
  const variable = around.map((place) => variables.get(place)).find((found) => found !== undefined)
  if (variable !== undefined) return `from the environment, ${variable}`
  const line = around.map((place) => lines.get(place)).find((found) => found !== undefined)
  return line === undefined || file === null ? undefined : `${path.basename(file)}, line ${line}`
}

/** Marks of JSON, line breaks, strings, and other values. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],\n]|[^\s{}[\],:"]+/g

/**
 * Lines of the settings of a file, from 1, by dotted path; items of lists are numbered from 0.
 *
 * @param text JSON that can be parsed
 */
export function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  const around: Around[] = []
  let [line, at] = [1, '']
  for (const [token] of text.matchAll(TOKEN)) {
    const inside = around.at(-1)
    if (token === '\n') line++
    else if (token === '}' || token === ']') around.pop()
    else if (token === ',') nextOf(inside)
    else {
      const key = keyOf(token, inside)
      if (key !== undefined) at = pathOf(inside, key)
      if (key !== undefined) lines.set(at, line)
      around.push(...begunBy(token, at, inside))
    }
  }
  return lines
}

/** An object or list that has begun and not ended. */
interface Around {
  readonly at: string
  readonly isList: boolean
  /** number of the item in a list */
  index: number
  /** whether the next text of an object is a key */
  isKey: boolean
}

function nextOf(inside: Around | undefined): void {
  if (inside === undefined) return
  inside.index++
  inside.isKey = !inside.isList
}

/** Key that a token is, or number of the item that begins with it; undefined for the value of a key. */
function keyOf(token: string, inside: Around | undefined): string | undefined {
  if (inside?.isKey === true) return JSON.parse(token) as string
  return inside?.isList === true ? String(inside.index) : undefined
}

function pathOf(inside: Around | undefined, key: string): string {
  return inside === undefined || inside.at === '' ? key : `${inside.at}.${key}`
}

/** What a token begins: an object, a list, or nothing. After a key, its value is next. */
function begunBy(token: string, at: string, inside: Around | undefined): Around[] {
  if (inside?.isKey === true) {
    inside.isKey = false
    return []
  }
  return token === '{' || token === '[' ? [{ at, isList: token === '[', index: 0, isKey: token === '{' }] : []
}
