/** Text of a local time for an input of type `datetime-local`: `2026-01-31T23:45`. @param ms since 1970 */
export function localText(ms: number): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16)
}

/**
 * Reads `lng, lat` in degrees, separated by a comma, a semicolon or spaces; undefined when it is not a point
 * on Earth.
 */
export function readPoint(text: string): [number, number] | undefined {
  const [lng = Number.NaN, lat = Number.NaN, ...rest] = text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(Number)
  return rest.length === 0 && Math.abs(lng) <= 180 && Math.abs(lat) <= 90 ? [lng, lat] : undefined
}
