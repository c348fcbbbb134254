import tzLookup from '@photostructure/tz-lookup'

/** Places that are asked; at sea and at borders one alone may be misleading. */
const SAMPLES = 101

/** Returns the IANA time zone in which most of some places lie, 1e-7 degree. */
export function timeZoneOf(lngE7: Int32Array, latE7: Int32Array): string {
  const counts = new Map<string, number>()
  const step = Math.max(1, Math.floor(lngE7.length / SAMPLES))
  for (let at = 0; at < lngE7.length; at += step) {
    const zone = tzLookup(latE7[at]! / 1e7, lngE7[at]! / 1e7)
    counts.set(zone, (counts.get(zone) ?? 0) + 1)
  }
  // there is a place: a map has junctions
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0]
}
