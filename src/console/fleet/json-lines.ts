type Path = readonly (string | number)[]

/** Reads the path of a fault, such as `$.profile.up[0].table`. */
export function stepsOf(text: string): (string | number)[] {
  const steps = text.matchAll(/\.([A-Za-z_]\w*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)
  return [...steps].map(([, name, at, quoted]) =>
    at !== undefined ? Number(at) : quoted !== undefined ? JSON.parse(quoted) : (name ?? ''),
  )
}

/**
 * Returns the line of a value in JSON text, from 1: that of its key, for a member of an object. For a path whose
 * end is missing it is the line of the deepest value that is there.
 *
 * @param text JSON that can be parsed
 */
export function lineOf(text: string, path: Path): number {
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)
  /** open objects and arrays: key of the member, or number of the item */
  const places: { step: string | number; isArray: boolean; isKey: boolean }[] = []
  let [best, line, read] = [{ depth: 0, line: 1 }, 1, 0]
  const note = () => {
    const depth = places.length
    const fits = depth <= path.length && places.every(({ step }, at) => step === path[at])
    if (fits && depth > best.depth) best = { depth, line }
  }
  for (const { 0: token, index } of tokens) {
    line += text.slice(read, index).split('\n').length - 1
    read = index
    const open = places.at(-1)
    if (open?.isKey === true && token.startsWith('"')) {
      open.step = JSON.parse(token)
      open.isKey = false
      note()
    } else if (token === '{') places.push({ step: '', isArray: false, isKey: true })
    else if (token === '[') {
      places.push({ step: 0, isArray: true, isKey: false })
      note()
    } else if (token === '}' || token === ']') places.pop()
    else if (token === ',' && open !== undefined) {
      if (open.isArray) open.step = Number(open.step) + 1
      else open.isKey = true
      if (open.isArray) best = nextItem(text, index, best, line, places, path)
    }
  }
  return best.line
}

/** The item after a comma begins where the next token is. */
function nextItem(
  text: string,
  comma: number,
  best: { depth: number; line: number },
  line: number,
  places: readonly { step: string | number }[],
  path: Path,
): { depth: number; line: number } {
  const fits = places.length <= path.length && places.every(({ step }, at) => step === path[at])
  if (!fits || places.length <= best.depth) return best
  const gap = /^,\s*/.exec(text.slice(comma))?.[0] ?? ''
  return { depth: places.length, line: line + gap.split('\n').length - 1 }
}
