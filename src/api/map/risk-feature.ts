const MAX_LEVEL = 10

/** A stored level within 0 to 10; undefined for a row that has none. */
export function levelOf(value: unknown): number | undefined {
  if (value === null || value === undefined) return undefined
  return Math.min(MAX_LEVEL, Math.max(0, Number(value))) // an int8 beyond 2^53 is printed as text
}

/** One cell of the answer. `datetime` is the printed start of its slot, null when it always held. */
export function featureText(geometryText: string, theme: string, datetime: unknown, risk: number): string {
  const properties = JSON.stringify({ theme, datetime, risk })
  return `{"type":"Feature","geometry":${geometryText},"properties":${properties}}`
}
