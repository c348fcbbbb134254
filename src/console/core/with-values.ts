/** Returns a text with each `{name}` replaced by its value, and `{n|row|rows}` by `1 row`, `2 rows`. */
export function withValues(text: string, values: Record<string, string | number>): string {
  return text.replace(
    /\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}/g,
    (whole, name: string, one?: string, many?: string) => {
      const value = values[name]
      if (value === undefined) return whole
      return one === undefined ? String(value) : `${value} ${String(value) === '1' ? one : many}`
    },
  )
}
