import type { Tags } from '../extract/osm-objects.js'
import { setOf } from './tag-values.js'

const OPEN = setOf('yes designated official permissive private destination')
const SUFFIXES = ['', ':forward', ':backward']
const KEYS = ['motorcar', 'motor_vehicle', 'vehicle', 'access'].flatMap((key) =>
  SUFFIXES.map((suffix) => key + suffix),
)

/**
 * Returns the tags of a way or a barrier as rescue services read them: open to cars where `emergency` opens
 * it, or an access tag names them. One-ways and works stay.
 *
 * @returns undefined when they are the same
 * @see https://wiki.openstreetmap.org/wiki/Key:emergency#Usage_as_an_access_tag
 */
export function rescueTagsOf(tags: Tags): Tags | undefined {
  const isAccess = tags.get('service') === 'emergency_access'
  if (isAccess || OPEN.has(tags.get('emergency') ?? '')) {
    const own = SUFFIXES.map((suffix) => `motorcar${suffix}`)
    const others = [...tags].filter(([key]) => !own.includes(key) && !(isAccess && key === 'service'))
    return new Map([...others, ['motorcar', 'yes']])
  }
  const named = KEYS.filter((key) => isForRescue(tags.get(key)))
  return named.length === 0 ? undefined : new Map([...tags, ...named.map((key) => [key, 'yes'] as const)])
}

function isForRescue(value: string | undefined): boolean {
  return value?.split(/[;,|]/).some((word) => word.trim() === 'emergency') === true
}
