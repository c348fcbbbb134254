/**
 * Parses the OSM tag `duration`: `MM`, `HH:MM`, `HH:MM:SS`, or ISO 8601 such as `PT1H30M` and `P1DT2H`.
 *
 * @returns seconds; undefined when the tag is missing, cannot be parsed, or is zero
 * @see https://wiki.openstreetmap.org/wiki/Key:duration
 */
export function parseDuration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = parseClock(text.trim()) ?? parseIso(text.trim().toUpperCase())
  return seconds !== undefined && seconds > 0 ? seconds : undefined
}

function parseClock(text: string): number | undefined {
  const match = /^(\d{1,4})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(text)
  if (match === null) return undefined
  const [, first, second, third] = match.map(Number)
  if (match[2] === undefined) return Number(first) * 60
  if (Number(second) > 59 || (match[3] !== undefined && Number(third) > 59)) return undefined
  return Number(first) * 3600 + Number(second) * 60 + (match[3] === undefined ? 0 : Number(third))
}

/** Weeks, days, hours, minutes and seconds. Months and years have no fixed length and are refused. */
function parseIso(text: string): number | undefined {
  const match =
    /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(
      text,
    )
  if (match === null) return undefined
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0))
  return (
    (((Number(weeks) * 7 + Number(days)) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)
  )
}
