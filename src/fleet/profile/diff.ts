import { canonicalText } from './digest.js'

/** A difference of two profiles. */
export interface ProfileChange {
  /** such as `up seen`, `settings sync.windows` or `ready_within_s` */
  readonly item: string
  /** value before; absent for what was added */
  readonly before?: unknown
  /** value after; absent for what was removed */
  readonly after?: unknown
}

type Json = Readonly<Record<string, unknown>>

/** Member by which the items of a list are recognised. */
const NAMES = ['table', 'store', 'name'] as const

/** Compares two profiles item by item: items of lists by their names, settings by theirs. */
export function diffProfiles(before: Json, after: Json): ProfileChange[] {
  const [old, now] = [itemsOf(before), itemsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((item) => {
    const [was, is] = [old.get(item), now.get(item)]
    if (old.has(item) && now.has(item) && canonicalText(was) === canonicalText(is)) return []
    return [{ item, ...(old.has(item) ? { before: was } : {}), ...(now.has(item) ? { after: is } : {}) }]
  })
}

function itemsOf(profile: Json): Map<string, unknown> {
  const items = new Map<string, unknown>()
  for (const [member, value] of Object.entries(profile)) {
    if (Array.isArray(value)) for (const item of value) items.set(`${member} ${nameOf(item)}`, item)
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) items.set(`${member} ${name}`, one)
    else items.set(member, value)
  }
  return items
}

function nameOf(item: Json): string {
  const name = NAMES.map((member) => item[member]).find((value) => typeof value === 'string')
  return String(name ?? canonicalText(item))
}
