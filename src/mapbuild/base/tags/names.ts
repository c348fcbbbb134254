import type { Tags } from '../../extract/osm-objects.js'
import type { Names, Props } from './drawing.js'

/** Keys of a name in Latin script, the best first. */
const LATIN_KEYS = [
  'name:latin',
  'name:en',
  'int_name',
  'name:ja-Latn',
  'name:ja_rm',
  'name:ko-Latn',
  'name:ko_rm',
  'name:zh_pinyin',
  'name:sr-Latn',
]
/** Longer names are cut: a label has no room for them. */
const MAX_LENGTH = 200
/** Most further names of an object: capitals have more than two hundred. */
const MAX_OTHERS = 40

/** Returns the names of an object; undefined when it has none. */
export function namesOf(tags: Tags): Names | undefined {
  const name = textOf(tags, 'name') || textOf(tags, 'name:latin') || textOf(tags, 'name:en')
  if (name === '') return undefined
  const latin = /\p{Script=Latin}/u.test(name) ? '' : firstOf(tags, LATIN_KEYS)
  const others = new Set<string>()
  for (const [key, value] of tags) {
    if (!/^(?:name:[\w-]{2,12}|alt_name|official_name|short_name|int_name|loc_name)$/.test(key)) continue
    for (const part of value.slice(0, MAX_LENGTH).split(';')) if (part.trim() !== '') others.add(part.trim())
    if (others.size >= MAX_OTHERS) break
  }
  others.delete(name)
  others.delete(latin)
  return { name, latin, others: [...others] }
}

/** Returns the properties of a label: `name_en` where it differs from the name. */
export function nameProps(tags: Tags, { name, latin }: Names): Props {
  const english = textOf(tags, 'name:en')
  return {
    name,
    ...(english === '' || english === name ? {} : { name_en: english }),
    ...(latin === '' ? {} : { name_latin: latin }),
  }
}

function firstOf(tags: Tags, keys: readonly string[]): string {
  for (const key of keys) {
    const found = textOf(tags, key)
    if (found !== '') return found
  }
  return ''
}

function textOf(tags: Tags, key: string): string {
  return (tags.get(key) ?? '').slice(0, MAX_LENGTH).trim()
}
