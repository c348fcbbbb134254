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

/** Sentences as one text: each with its full stop, and with a space between them except in Japanese. */
export function joinSentences(texts: readonly string[], language: 'en' | 'ja'): string {
  const [stop, gap] = language === 'ja' ? ['。', ''] : ['.', ' ']
  return texts.map((text) => (text.endsWith(stop) ? text : `${text}${stop}`)).join(gap)
}
